// How a process waits for the others of its node, and what it says when they do not come.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sdk/base/status.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/node/agreement.h"
#include "sdk/hfreduce/node/chunk_counters.h"
#include "sdk/hfreduce/node/chunk_slots.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// Not thread-safe. What is referred to must outlive it.
class PeerWatch {
 public:
  // `spins`: there is a processor for every process of the node.
  PeerWatch(Segment& segment, const Agreement& agreement, const ChunkSlots& slots, const ChunkCounters& counters,
            bool spins)
      : segment_(segment), agreement_(agreement), slots_(slots), counters_(counters), spins_(spins) {}

  // Steps until `ended`, sleeping where there is nothing to do; fails the segment when a process died or none has done
  // anything for `timeout`. `step` does some work if there is any and tells whether. `prepare_wake` is called before a
  // last look: what is not of the segment rings this process' bell from then on.
  Status Drive(const std::function<bool()>& step, const std::function<bool()>& ended,
               const std::function<void()>& prepare_wake, Duration timeout);
  // After a while without progress: a process that died or left, or, with `stalled`, who is behind.
  Status CheckPeers(bool stalled);
  // Who is behind, in words.
  std::string WaitsFor() const;

 private:
  std::string Behind() const;
  std::string Which() const;

  Segment& segment_;
  const Agreement& agreement_;
  const ChunkSlots& slots_;
  const ChunkCounters& counters_;
  bool spins_;
};

}  // namespace glim::hfreduce
