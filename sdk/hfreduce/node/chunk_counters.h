// How far each process of a node is, by chunk number: counters in the segment, of which each has one writer and none
// goes back. Whoever raises one that others may wait for rings them.
#pragma once

#include <cstdint>

#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// Who adds up what the processes of a node have delivered.
enum class Reducer { kAnyProcess, kLeader };

// Not thread-safe. The segment must outlive it.
class ChunkCounters {
 public:
  ChunkCounters(Segment& segment, Reducer reducer) : segment_(segment), reducer_(reducer) {}

  Reducer reducer() const { return reducer_; }
  // This process has delivered its part of all before `chunks`, and rings who reduces if it was the last.
  void SetArrived(int half, std::uint64_t chunks);
  bool AllArrived(int half, std::uint64_t chunks) const;
  // This process needs no result before `chunks` any more.
  void SetTaken(int half, std::uint64_t chunks) { segment_.own().taken[half].Set(chunks); }
  bool AllTook(int half, std::uint64_t chunks) const;
  void SetResult(int half, std::uint64_t number);
  bool HasResult(int half, std::uint64_t number) const;
  // Of the leader alone: nobody reads sources before `chunks` any more. (Reducer::kLeader)
  void SetReduced(int half, std::uint64_t chunks) { segment_.header().reduced[half].Set(chunks); }
  bool Reduced(int half, std::uint64_t number) const { return segment_.header().reduced[half].Get() > number; }

  // This process has done something: the others see that it has not stalled.
  void Beat();
  // Grows whenever any process of the node does something.
  std::uint64_t Beats() const;
  void RingWhoReduces();
  void RingOthers() { segment_.bell().RingOthers(); }

 private:
  Segment& segment_;
  Reducer reducer_;
};

}  // namespace glim::hfreduce
