// Programs of the operator's that tell somebody. Run as a user of their own, with nothing of the scheduler's: no
// capabilities, no groups, no new privileges, a clean environment, the message on the standard input. Blocks; any
// thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

#include "scheduler/core/model/policy.h"
#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::notify {

inline constexpr Duration kCommandMax = Seconds(30);
inline constexpr std::size_t kCommandOutputMax = 2000;  // bytes of what it says that go into the log

struct CommandUser {
  uid_t uid = 0;
  gid_t gid = 0;
};

// As whom it would run. Refused: a path that somebody else than root (or the scheduler's own user) could exchange, that
// leads over links, or is no program; a user that is not there, or is root; another user than the scheduler's own,
// where the scheduler is not root.
Result<CommandUser> CheckCommand(const core::NotifyCommand& command);

struct CommandRun {
  int exit_code = 0;   // 128 + n after signal n
  std::string output;  // its first bytes, as they are
};
// Also DEADLINE_EXCEEDED: it was killed, and what it had started with it; ABORTED: `stopping`.
Result<CommandRun> RunCommand(const core::NotifyCommand& command, const std::string& input, Duration limit,
                              const std::atomic<bool>& stopping);

}  // namespace glim::notify
