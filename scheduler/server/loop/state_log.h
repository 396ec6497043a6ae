// The states of nodes and jobs as they change, in entries of the history of their own (states_changed), so that the
// cluster as it was at a moment can be put together later: docs/decisions/0041-reports.md.
//
// One entry a commit says what is otherwise than before it; kWholeEvery, and with every leader, entries say all there
// is. Lines of text:
//
//   all                                the rest is everything: forget what was before
//   n 12 ready 7.1 node-3              node 12, of that name, is ready; job 7's attempt 1 holds it (-: nobody)
//   n 12                               it is gone
//   j 7 running 1                      job 7 is running; its newest attempt is 1
//   j 7                                it has ended, or is gone
//
// Pure. Times are those of the entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/history.h"
#include "scheduler/core/model/transition.h"

namespace glim::server {

inline constexpr Duration kWholeEvery = Hours(24);

// None: nothing of that kind has changed. `before`: the rows as of the last commit.
std::vector<core::HistoryEntry> StateChanges(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                                             TimePoint at);
std::vector<core::HistoryEntry> WholeState(const core::Tables& now, TimePoint at);

// The cluster after the entries that it was given, in their order.
class StateReplay {
 public:
  struct NodeThen {
    std::string name;
    core::NodeState state = core::NodeState::kReady;
    core::AttemptId holder;
    friend bool operator==(const NodeThen&, const NodeThen&) = default;
  };
  struct JobThen {
    core::JobState state = core::JobState::kQueued;
    std::uint32_t attempt = 0;
    friend bool operator==(const JobThen&, const JobThen&) = default;
  };

  // Lines that it does not know are passed over: a newer program's.
  void Take(const core::HistoryEntry& entry);

  // It has met a beginning: nothing is missing.
  bool whole() const { return whole_; }
  const std::map<core::NodeId, NodeThen>& nodes() const { return nodes_; }
  const std::map<core::JobId, JobThen>& jobs() const { return jobs_; }  // that had not ended

 private:
  void TakeLine(const std::string& line);

  bool whole_ = false;
  std::map<core::NodeId, NodeThen> nodes_;
  std::map<core::JobId, JobThen> jobs_;
};

}  // namespace glim::server
