// What the processes of a node were asked for: each posts its own, and goes on when all have posted the same. How
// results get to those who take them follows from what all have said.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/hfreduce/node/chunk_counters.h"
#include "sdk/hfreduce/node/node_operation.h"
#include "sdk/hfreduce/node/segment.h"

namespace glim::hfreduce {

// How a chunk gets to those who take it.
enum class Way {
  kUnknown,   // until all processes have posted
  kEach,      // small: everybody reduces for itself, from the staging areas
  kFromRoot,  // one gives: the others copy from where it lies
  kInto,      // reduced once, and written into everybody's buffer in the segment by who reduced it
  kOnePlace,  // reduced into local rank 0's buffer in the segment
  kRing,      // reduced into the ring of results, from where everybody copies
};

// "AllReduce of 1024 fp32 (sum)"
std::string Describe(const OperationDescriptor& operation);

// Not thread-safe. What is referred to must outlive it. A disagreement fails the segment, with both sides in words.
class Agreement {
 public:
  Agreement(Segment& segment, ChunkCounters& counters) : segment_(segment), counters_(counters) {}

  // The next operation, in this process. Others learn of it by Post.
  void Begin(const NodeOperation& operation, bool each_reduces);
  // `in_place`: the others may read `in` from where it lies in the segment, if it does. `quietly`: something follows at
  // once that rings the others if this process was the last to post.
  void Post(bool in_place, bool quietly);
  // The operation is never agreed on: the segment has failed.
  void Abandon() { agreed_ = false; }
  // Whether all processes have posted the same operation. If not the same, the segment fails.
  bool Agreed();

  const NodeOperation& operation() const { return operation_; }
  std::uint64_t sequence() const { return sequence_; }  // operations are counted from 1
  bool each_reduces() const { return each_reduces_; }
  bool gives() const { return operation_.DeliveredBy(segment_.local_rank()); }
  bool wants() const { return operation_.TakenBy(segment_.local_rank()); }
  // In words, as this process posted it.
  std::string Text() const { return Describe(DescriptorOf(segment_.local_rank())); }

  // Once agreed:
  Way way() const { return way_; }
  // Null: staged.
  const std::byte* InOf(std::uint32_t local_rank) const { return in_of_[local_rank]; }
  // Null: not a taker, or not in the segment.
  std::byte* OutOf(std::uint32_t local_rank) const { return out_of_[local_rank]; }
  // Where the whole result is made (Way::kOnePlace), else null.
  std::byte* one_place() const { return one_place_; }
  // It is made in this process' own buffer.
  bool lies_here() const { return one_place_ != nullptr && operation_.out == one_place_; }

 private:
  OperationDescriptor& DescriptorOf(std::uint32_t rank) const;
  bool AllPosted() const;
  void Compare();
  void ChooseWay();

  Segment& segment_;
  ChunkCounters& counters_;
  NodeOperation operation_;
  std::uint64_t sequence_ = 0;
  bool each_reduces_ = false;
  bool agreed_ = false;
  Way way_ = Way::kUnknown;
  const std::byte* in_of_[kLocalRanksMax] = {};
  std::byte* out_of_[kLocalRanksMax] = {};
  std::byte* one_place_ = nullptr;
};

}  // namespace glim::hfreduce
