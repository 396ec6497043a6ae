// One process' part in the operations of its node: it tells the others what it was asked for and finds out whether they
// were asked for the same, delivers its chunks, and takes the results. Who reduces stands elsewhere: any process
// (node_reduce.h) or the leader alone (segment_side.h).
//
// Chunks are numbered on from operation to operation; a counter of one process tells how far it is, and never goes
// back. The places of a ring of slots follow from the number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/hfreduce/kernels/reduce_op.h"
#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/node/pair_swap.h"
#include "sdk/hfreduce/node/segment.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

inline constexpr std::uint64_t kAllLocalRanks = ~std::uint64_t{0};

// The same in all processes of the node but for `in` and `out`.
struct NodeOperation {
  Collective kind = Collective::kBarrier;
  DType type = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::uint32_t root = 0;   // as the caller says it: compared and told, no more
  std::size_t divisor = 1;  // of kAverage
  std::size_t elements = 0;
  std::uint64_t delivers = kAllLocalRanks;  // bit i: local rank i gives its `in`
  std::uint64_t takes = kAllLocalRanks;     // and wants the result in its `out`
  const std::byte* in = nullptr;  // null in a process that gives nothing. Read in place if it lies in the segment
  std::byte* out = nullptr;       // may be `in`
  bool one_result = false;        // the result lies once, in local rank 0's `out`, which must lie in the segment
  OnDevice on_device = {};        // buffers there are copied in and out

  std::size_t bytes() const { return elements * SizeOf(type); }
};

// "AllReduce of 4096 bytes (fp32, sum)"
std::string Describe(const OperationDescriptor& operation);

enum class Reducer { kAnyProcess, kLeader };

// How a chunk gets to those who take it.
enum class Way {
  kUnknown,   // until all processes have posted
  kEach,      // small: everybody reduces for itself, from the staging areas
  kFromRoot,  // one gives: the others copy from where it lies
  kInto,      // reduced once, and written into everybody's buffer in the segment by who reduced it
  kOnePlace,  // reduced into local rank 0's buffer in the segment
  kRing,      // reduced into the ring of results, from where everybody copies
};

// Not thread-safe. The segment must outlive it.
class Exchange {
 public:
  // A chunk has at most slot_bytes. INVALID_ARGUMENT: an area of the segment has less than two slots for each of the
  // `halves` that chunks may have.
  static Result<Exchange> Create(Segment& segment, Reducer reducer, int halves, std::size_t slot_bytes);
  // For buffers on a device; before the first operation. It must outlive the exchange. The one who sleeps must call
  // PrepareWake before a last look.
  void UseDevice(DeviceStage& device) { device_ = &device; }
  void PrepareWake() {
    if (device_ != nullptr) device_->PrepareWake();
  }
  // No copy from or to a device is under way: after a failure, buffers are the caller's again only then.
  bool Quiet() { return device_ == nullptr || device_->Idle(); }

  // The one before must have ended. Chunks of at most slot_bytes. The buffers stay untouched until it has ended.
  void Begin(const NodeOperation& operation, const Chunking& chunking, bool each_reduces);
  // Whether all processes have posted the same operation. If not the same, the segment fails.
  bool Agreed();
  // At most one chunk's work. True: something was done.
  bool DeliverOne();
  bool TakeOne();
  // The next one of this half. False: it has no result yet, or there is no room to pass it on.
  bool TakeNext(int half);
  // All delivered and taken, and no other process needs this one's buffers any more. Call until true: it tells others.
  bool Ended();

  bool Arrived(int half, std::uint32_t chunk);
  // Where the chunk lies that Arrived, in the order of local ranks; a pair's has the place of its first. Valid until
  // the next call.
  std::span<const void* const> Sources(int half, std::uint32_t chunk);
  bool HasResult(int half, std::uint32_t chunk);
  // Where its result is put or lies; null: the slot is still being read. (kRing, kOnePlace)
  std::byte* ResultPlace(int half, std::uint32_t chunk);
  void PublishResult(int half, std::uint32_t chunk);
  // Nobody reads the sources of this half's first `chunks` chunks any more. (Reducer::kLeader)
  void PublishReduced(int half, std::uint32_t chunks);
  // Next chunk of half 0 that nobody has begun with and that can be reduced now. It must be reduced. (kAnyProcess)
  std::optional<std::uint32_t> Claim();

  // Steps until `ended`, sleeping where there is nothing to do; fails the segment when a process died or none has done
  // anything for `timeout`. `step` does some work if there is any and tells whether.
  Status Drive(const std::function<bool()>& step, const std::function<bool()>& ended, Duration timeout);
  // After a while without progress: a process that died or left, or, with `stalled`, who is behind.
  Status CheckPeers(bool stalled);
  // Grows whenever any process of the node does something.
  std::uint64_t Beats();

  const NodeOperation& operation() const { return operation_; }
  const Chunking& chunking() const { return chunking_; }
  Way way() const { return way_; }
  Segment& segment() { return segment_; }
  // Where the one result lies that everybody reads, once ended; until local rank 0 uses the buffer again.
  std::optional<std::uint64_t> ResultOffset();
  // Of everybody's `out`, for Way::kInto. Null: not a taker, or not in the segment.
  std::byte* OutOf(std::uint32_t local_rank) { return out_of_[local_rank]; }
  bool gives() const { return Bit(operation_.delivers, segment_.local_rank()); }
  bool wants() const { return Bit(operation_.takes, segment_.local_rank()); }
  // Too much for the caches: results are better written past them.
  bool large() const;

 private:
  struct Half {
    std::uint64_t base = 0;   // number of the operation's first chunk
    std::uint32_t count = 0;  // chunks
    std::uint32_t delivered = 0;
    std::uint32_t taken = 0;
    std::uint32_t offered = 0;   // to the partner
    std::uint32_t gathered = 0;  // from it
    std::uint32_t fetching = 0;  // asked for, of those on a device
    std::uint32_t fetched = 0;
    std::uint32_t storing = 0;          // given to the device, but may not be there yet
    std::deque<std::uint64_t> fetches;  // numbers of copies in flight
    std::deque<std::uint64_t> stores;
  };

  Exchange(Segment& segment, Reducer reducer, int halves, std::size_t slot_bytes);
  static bool Bit(std::uint64_t mask, std::uint32_t rank) { return (mask >> rank & 1) != 0; }
  OperationDescriptor& DescriptorOf(std::uint32_t rank);
  void Abandon();
  // The result is made in this process' own buffer.
  bool lies_there() const { return one_place_ != nullptr && operation_.out == one_place_; }
  void Post();
  void Compare();
  void ChooseWay();
  void BeginHalf(int half);
  bool OfferPart(int half);
  bool DeliverPart(int half);
  bool GatherPart(int half);
  bool PassPart(int half, std::uint32_t chunk, const std::byte* result);
  // Of the part of an own chunk; null: it is on its way from the device.
  const std::byte* OwnSource(int half, std::uint32_t chunk, const Range& part);
  void Delivered(int half);
  void Took(int half);
  const std::byte* ResultOf(int half, std::uint32_t chunk);
  Status BeginOnDevice();
  std::byte* FetchPlace(int half, std::uint32_t chunk);
  bool FetchNext(int half);
  const std::byte* StoreSource(int half, std::uint32_t chunk);
  bool StoreNext(int half);
  bool SourcesRead(int half, std::uint32_t chunk);
  bool AllTook(int half, std::uint64_t chunks);
  std::byte* StageSlot(std::uint32_t rank, int half, std::uint32_t chunk);
  std::byte* ResultSlot(int half, std::uint32_t chunk);
  void Beat();
  void RingWhoReduces();
  bool AllPosted();
  bool AllArrived(int half, std::uint64_t chunks);
  std::string Behind();

  Segment& segment_;
  Reducer reducer_;
  int halves_;
  std::size_t slot_bytes_;
  std::uint32_t stage_slots_;   // of a half
  std::uint32_t result_slots_;  // of a half, at most kReadyFlags
  bool spins_;                  // a processor for every process
  std::uint32_t ring_every_;    // results; with fewer processors, one that is woken keeps another from its work

  NodeOperation operation_;
  Chunking chunking_;
  std::uint64_t sequence_ = 0;
  Half half_[kHalves];
  std::optional<PairSwap> swap_;  // of a rank in a pair
  bool pairs_ = false;            // of the operation: the pairs of the node, if there are, reduce first
  bool paired_ = false;           // ... and this rank is in one
  bool gathers_ = false;          // ... and takes half of the result from its partner
  DeviceStage* device_ = nullptr;
  bool fetches_ = false;         // this process' chunks come from the device
  bool stores_ = false;          // and results go there
  std::byte* bounce_ = nullptr;  // pinned, of the device's stage
  bool each_reduces_ = false;
  bool stages_ = false;
  bool agreed_ = false;
  bool ended_ = true;
  Way way_ = Way::kUnknown;
  const std::byte* in_of_[kLocalRanksMax] = {};  // null: staged
  std::byte* out_of_[kLocalRanksMax] = {};
  std::byte* one_place_ = nullptr;
  const void* sources_[kLocalRanksMax] = {};
};

// Past the caches if `stream`.
void CopyBytes(void* to, const void* from, std::size_t bytes, bool stream);

}  // namespace glim::hfreduce
