// HeldSaves: what agents have told of the saves that lie on their nodes and below the checkpoint root, when they last
// looked (saves_review.h). Soft: after a start of the scheduler it is empty until agents have looked again, which each
// is asked for once. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::server {

class HeldSaves {
 public:
  struct OfJob {
    core::JobId job;
    std::int64_t bytes = 0;   // on the disk
    std::uint32_t saves = 0;  // checkpoints of Glim's format
  };
  struct Told {
    core::NodeId node;
    bool shared = false;  // below the checkpoint root; else in the node's own folder
    TimePoint at;
    std::vector<OfJob> jobs;
  };

  static constexpr std::size_t kJobsMax = 4'000'000;  // of all together; what would be more is not kept

  // In place of what it told before; of the root there is one. False: there are too many.
  bool Put(Told told);
  // These have been removed since.
  void Remove(core::NodeId node, bool shared, const std::set<core::JobId>& jobs);
  // Whether this node has told nothing yet and is to look at once: true once for each.
  bool ShouldHurry(core::NodeId node);
  // Under the lock: `each` must be quick, and not call back.
  void Each(const std::function<void(const Told&)>& each) const;

 private:
  using Place = std::pair<bool, core::NodeId>;  // shared first
  void Drop(std::map<Place, Told>::iterator it);

  mutable std::mutex mutex_;
  std::map<Place, Told> told_;
  std::set<core::NodeId> hurried_;
  std::size_t jobs_ = 0;
};

}  // namespace glim::server
