// PolicyKeeper: which policy is in force, and reading its file again while the scheduler runs.
//
// The strand decides by the policy; this is where it comes from. Any thread may call; one reload at a time. Reads no
// file itself: it is handed how.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/policy/policy_file.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

// Where the policy in force came from.
struct PolicyOrigin {
  std::string path;                          // for messages; empty: nowhere, it is what the defaults are
  std::function<Result<PolicyFile>()> read;  // once more: a new value
};

class PolicyKeeper {
 public:
  // `in_force` is what the loop was opened with. Borrows the loop, which outlives it.
  PolicyKeeper(SchedulerLoop* loop, PolicyOrigin origin, PolicyFile in_force)
      : loop_(loop), origin_(std::move(origin)), in_force_(std::move(in_force)) {}

  // Warns of pools and zones of the policy that no node has ever registered in.
  void WarnAtStart() const;

  struct Reloaded {
    std::vector<PolicyChange> changes;
    std::vector<std::string> warnings;
    bool applied = false;
  };
  using Done = std::function<void(const Result<Reloaded>&)>;
  // Reads the file again, and unless it is a dry run or nothing has changed, the next planning pass goes by it. `done`
  // is called once: at once, or on the strand after the commit. Refused (and nothing changes): a bad file, an unknown
  // pool or zone, another reload under way (ABORTED, RELOADING). What is applied is told to the audit trail by `note`,
  // with the changes in words.
  void Reload(bool dry_run, std::optional<AuditNote> note, Done done);

  // `with_urls`: of webhooks, whole: for operators.
  std::string Yaml(bool with_urls) const;
  const std::string& source() const { return origin_.path; }

 private:
  // Answers, or fills `file`, `accounts` and `out` and returns true if there is something to apply.
  bool Prepare(bool dry_run, const Done& done, PolicyFile* file, std::optional<core::ChangeAccounts>* accounts,
               Reloaded* out);
  void End();

  SchedulerLoop* const loop_;
  const PolicyOrigin origin_;
  mutable std::mutex mutex_;
  PolicyFile in_force_;     // under mutex_
  bool reloading_ = false;  // under mutex_
};

// The pools and zones of all nodes that have rows, and those that the rows of operators name.
KnownNames NamesOf(const core::Tables& tables);

}  // namespace glim::server
