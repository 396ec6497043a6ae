// What the processes of a task are doing, for somebody who wants to know why it stands still: taken by a glim-paths of
// its own, for a process that hangs may hold up whoever looks at it.
//
// The text: a line for each process, "rank 3: python3 (pid 4711) sleeps in futex_wait_queue; wait, train.py:41", with
// what the process itself says that it waits for ("; hfreduce: rank 1 has not called Barrier (operation 7)"), then an
// empty line and the stacks. It names functions and files, and no values. Plain values but for Gather.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr std::size_t kEvidenceProcessesMax = 64;
inline constexpr std::size_t kEvidenceBytesMax = 64 * 1024;  // in a report
inline constexpr std::size_t kEvidenceFileMax = 400 * 1024;  // beside the logs
inline constexpr char kEvidenceEnd = '\f';                   // behind each text of Gather's

struct EvidenceOrder {
  struct Rank {
    std::uint32_t rank = 0;
    pid_t pid = 0;  // of the program that was started for it
  };
  std::vector<Rank> ranks;
  std::vector<pid_t> processes;  // of the task, all of them
  std::optional<TaskUser> user;  // whose rights they have; none: the caller's
};

std::string ToJson(const EvidenceOrder& order);
Result<EvidenceOrder> ParseEvidenceOrder(const std::string& text);

// Looks, and tells the text so far at once and the whole when it is there, each with kEvidenceEnd behind it. From then
// on the calling process has the task's user's rights alone. 30 s at most, unless /proc itself hangs.
void Gather(const EvidenceOrder& order, const std::function<void(const std::string&)>& tell);

// The last text that is whole; empty: none is.
std::string LastEvidence(const std::string& output);

}  // namespace glim::nodeagent
