// Tells a stall from slowness, and whose it is.
//
// A node that waits asks those it waits for, on kControl. Whoever runs answers at once: either its own processes have
// not come (then it is they who stall), or it waits for others too. So at the timeout the neighbours of a stalled node
// name it, and those further away are told by them; they give up themselves only after twice the timeout.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sdk/base/status.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/engine/operation.h"

namespace glim::hfreduce {

// Time is handed in. Not thread-safe.
class StallWatch {
 public:
  StallWatch(NodeIndex self, Duration timeout) : self_(self), timeout_(timeout) {}

  // `progress` changes with everything that happens. True: nothing did for a while; ask (again), and Judge. A watch
  // that was not called for half the timeout begins anew: it may have slept itself.
  bool Tick(TimePoint now, bool busy, std::uint64_t progress);
  void Answered(NodeIndex from, bool waits_for_itself);
  // After a Tick that was true. UNAVAILABLE, who stalls; OK: nobody yet.
  Status Judge(const Waits& waits, const std::string& operation) const;

 private:
  struct Answer {
    TimePoint at;
    bool waits_for_itself = false;
  };

  NodeIndex self_;
  Duration timeout_;
  std::uint64_t progress_ = 0;
  TimePoint now_;
  std::optional<TimePoint> since_;  // of the last progress
  TimePoint asked_;
  std::map<NodeIndex, Answer> answers_;  // of this stall
};

}  // namespace glim::hfreduce
