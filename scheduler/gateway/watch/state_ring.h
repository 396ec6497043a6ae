// StateRing: one topic's state for any number of readers: the changes of the newest rounds, and now and then the whole
// state. Who has seen round R gets the changes since, or, where these are not kept or are more than the state itself,
// the state and the changes since that. So a reader that comes again, one that was too slow and one that is new are
// served alike, from the same frames.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "scheduler/gateway/watch/frames.h"

namespace glim::gateway {

class StateRing {
 public:
  // Changes are known from this round on.
  explicit StateRing(std::uint64_t round, std::size_t bytes_max = std::size_t{4} << 20, std::size_t frames_max = 256)
      : bytes_max_(bytes_max), frames_max_(frames_max), floor_(round) {}

  // What this round, a later one than any before, changed.
  void Add(std::uint64_t round, Frame changes);
  // Whether From cannot do without SetState: a new reader (round 0) or one from before what is kept, and no state that
  // the changes still lead on from.
  bool NeedsState(std::uint64_t seen) const;
  // The whole state as of this round, in parts.
  void SetState(std::uint64_t round, std::vector<Frame> parts);
  // Appends what leads one who has seen this round to the newest.
  void From(std::uint64_t seen, std::vector<Frame>* out) const;

 private:
  struct Changes {
    std::uint64_t round;
    Frame frame;
  };
  bool Covers(std::uint64_t round) const { return round >= floor_; }
  std::size_t BytesSince(std::uint64_t round) const;
  bool ByChanges(std::uint64_t seen) const;
  bool HasState() const;

  const std::size_t bytes_max_;
  const std::size_t frames_max_;
  std::uint64_t floor_;  // all changes of later rounds are here
  std::deque<Changes> changes_;
  std::size_t bytes_ = 0;
  std::uint64_t state_round_ = 0;  // 0: there is no state
  std::vector<Frame> state_;
  std::size_t state_bytes_ = 0;
};

}  // namespace glim::gateway
