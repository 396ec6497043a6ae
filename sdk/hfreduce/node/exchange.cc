#include "sdk/hfreduce/node/exchange.h"

#include <sched.h>

#include <algorithm>
#include <utility>

namespace glim::hfreduce {
namespace {

const char* NameOfKind(Collective kind) {
  switch (kind) {
    case Collective::kAllReduce: return "AllReduce";
    case Collective::kReduce: return "Reduce";
    case Collective::kBroadcast: return "Broadcast";
    case Collective::kBarrier: return "Barrier";
    case Collective::kAllGather: return "AllGather";
    case Collective::kReduceScatter: return "ReduceScatter";
  }
  return "an unknown operation";
}

bool Reduces(Collective kind) {
  return kind == Collective::kAllReduce || kind == Collective::kReduce || kind == Collective::kReduceScatter;
}

bool Same(const OperationDescriptor& a, const OperationDescriptor& b) {
  return a.kind == b.kind && a.type == b.type && a.op == b.op && a.one_result == b.one_result && a.root == b.root &&
         a.bytes == b.bytes;
}

std::uint32_t Processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
}

}  // namespace

std::string Describe(const OperationDescriptor& operation) {
  std::string text = NameOfKind(operation.kind);
  if (operation.kind == Collective::kBarrier) return text;
  text += " of " + std::to_string(operation.bytes) + " bytes";
  std::string details;
  if (Reduces(operation.kind)) details = std::string(NameOf(operation.type)) + ", " + std::string(NameOf(operation.op));
  if (operation.kind == Collective::kReduce || operation.kind == Collective::kBroadcast) {
    details += (details.empty() ? "" : ", ") + ("root " + std::to_string(operation.root));
  }
  if (operation.one_result != 0) details += ", one result";
  return details.empty() ? text : text + " (" + details + ")";
}

Result<Exchange> Exchange::Create(Segment& segment, Reducer reducer, int halves, std::size_t slot_bytes) {
  const std::size_t least = 2 * slot_bytes * static_cast<std::size_t>(halves);
  for (const auto& [field, bytes] :
       {std::pair("stage_bytes", segment.stage_bytes()), std::pair("result_bytes", segment.result_bytes())}) {
    if (bytes >= least) continue;
    return InvalidArgument(
        field,
        "an area of " + std::to_string(bytes) + " bytes is too small for chunks of " + std::to_string(slot_bytes),
        "use at least " + std::to_string(least));
  }
  return Exchange(segment, reducer, halves, slot_bytes);
}

Exchange::Exchange(Segment& segment, Reducer reducer, int halves, std::size_t slot_bytes)
    : segment_(segment),
      reducer_(reducer),
      halves_(halves),
      slot_bytes_(slot_bytes),
      stage_slots_(static_cast<std::uint32_t>(segment.stage_bytes() / halves / slot_bytes)),
      result_slots_(
          static_cast<std::uint32_t>(std::min<std::size_t>(segment.result_bytes() / halves / slot_bytes, kReadyFlags))),
      spins_(segment.ranks() <= Processors()),
      ring_every_(spins_ || reducer == Reducer::kLeader ? 1 : std::min({stage_slots_ / 2, result_slots_ / 2, 4u})) {
  const LocalPair* const pair = segment.PairOf(segment.local_rank());
  if (pair != nullptr) swap_.emplace(segment, *pair, slot_bytes, stage_slots_);
}

void Exchange::Begin(const NodeOperation& operation, const Chunking& chunking, bool each_reduces) {
  GLIM_CHECK(ended_ || segment_.failed(), "operations of an exchange follow each other");
  ended_ = false;
  agreed_ = false;
  if (segment_.failed()) return Abandon();
  operation_ = operation;
  chunking_ = chunking;
  each_reduces_ = each_reduces;
  way_ = Way::kUnknown;
  one_place_ = nullptr;
  ++sequence_;
  pairs_ = !segment_.pairs().empty() && !each_reduces && Reduces(operation.kind) && operation.bytes() > kPairBytesMin;
  paired_ = pairs_ && swap_.has_value();
  gathers_ = paired_ && operation.kind == Collective::kAllReduce && !operation.one_result;
  const bool reads_own = reducer_ == Reducer::kLeader && segment_.local_rank() == 0 && !operation.on_device.in;
  stages_ = paired_ || (gives() && operation.elements > 0 && !reads_own &&
                        (each_reduces || !segment_.OffsetOf(operation.in, operation.bytes())));
  Status status = stages_ ? segment_.ReserveStage() : Status::Ok();
  if (status.ok()) status = BeginOnDevice();
  if (!status.ok()) {
    segment_.Fail(Status(status.code(), segment_.NameOf(segment_.local_rank()) + ": " + status.message()));
    return Abandon();
  }
  for (int h = 0; h < kHalves; ++h) BeginHalf(h);
  Post();
}

// Counters of what this process has no part in are there already.
void Exchange::BeginHalf(int h) {
  Half& half = half_[h];
  half.base += half.count;
  half.count = chunking_.ChunksOf(h);
  half.taken = 0;
  half.delivered = stages_ ? 0 : half.count;
  half.offered = paired_ ? 0 : half.count;
  half.gathered = gathers_ ? 0 : half.count;
  half.fetching = half.fetched = half.storing = 0;
  GLIM_CHECK(h < halves_ || half.count == 0, "chunks of a half that this exchange has no slots for");
  const std::uint64_t end = half.base + half.count;
  RankState& own = segment_.own();
  if (!stages_) own.arrived[h].Set(end);
  if (!wants()) own.taken[h].Set(end);
  if (!swap_) return;
  if (!paired_) own.offered[h].Set(end);
  if (!gathers_) own.passed[h].Set(end);
  if (!gathers_) own.gathered[h].Set(end);
}

// Nothing of an operation that cannot be done is delivered or taken, and it never ends.
void Exchange::Abandon() {
  for (Half& half : half_) {
    half.delivered = half.taken = half.offered = half.gathered = half.fetching = half.storing = half.count;
  }
}

OperationDescriptor& Exchange::DescriptorOf(std::uint32_t rank) {
  return segment_.rank(rank).descriptors[sequence_ % 2];
}

void Exchange::Post() {
  OperationDescriptor& descriptor = DescriptorOf(segment_.local_rank());
  descriptor = {.kind = operation_.kind,
                .type = operation_.type,
                .op = operation_.op,
                .one_result = operation_.one_result,
                .root = operation_.root,
                .bytes = operation_.bytes()};
  if (gives() && !each_reduces_ && !paired_) {
    descriptor.in_offset = segment_.OffsetOf(operation_.in, operation_.bytes()).value_or(kPrivate);
  }
  if (wants()) descriptor.out_offset = segment_.OffsetOf(operation_.out, operation_.bytes()).value_or(kPrivate);
  segment_.own().posted.Set(sequence_);
  Beat();
  // The last one lets the others go on, if not only with the chunk that it is about to stage.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool stages_at_once = stages_ && !swap_ && half_[0].count + half_[1].count == 1;
  if (AllPosted() && !stages_at_once) segment_.bell().RingOthers();
}

bool Exchange::AllPosted() {
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (segment_.rank(rank).posted.Get() < sequence_) return false;
  }
  return true;
}

bool Exchange::Agreed() {
  if (agreed_) return true;
  if (!AllPosted() || segment_.failed()) return false;
  Compare();
  if (segment_.failed()) return false;
  ChooseWay();
  agreed_ = !segment_.failed();
  return agreed_;
}

void Exchange::Compare() {
  const OperationDescriptor first = DescriptorOf(0);
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    const OperationDescriptor other = DescriptorOf(rank);
    if (!Same(first, other)) {
      segment_.Fail(InvalidArgument("", segment_.NameOf(rank) + " called " + Describe(other) + ", " +
                                            segment_.NameOf(0) + " " + Describe(first) + " (operation " +
                                            std::to_string(sequence_) + ")"));
      return;
    }
    in_of_[rank] = nullptr;
    out_of_[rank] = nullptr;
    if (other.in_offset != kPrivate) in_of_[rank] = segment_.At(other.in_offset, other.bytes);
    if (other.out_offset != kPrivate) out_of_[rank] = segment_.At(other.out_offset, other.bytes);
    if ((other.in_offset != kPrivate && in_of_[rank] == nullptr) ||
        (other.out_offset != kPrivate && out_of_[rank] == nullptr)) {
      segment_.Fail(Status(StatusCode::kInternal, segment_.NameOf(rank) + " gave a buffer outside of the segment"));
      return;
    }
  }
}

void Exchange::ChooseWay() {
  bool all_in_segment = true;
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (Bit(operation_.takes, rank) && out_of_[rank] == nullptr) all_in_segment = false;
  }
  const bool leader = reducer_ == Reducer::kLeader;
  if (each_reduces_) {
    way_ = Way::kEach;
  } else if (operation_.one_result || (leader && out_of_[0] != nullptr)) {
    way_ = Way::kOnePlace;
    one_place_ = out_of_[0];
    if (one_place_ == nullptr && operation_.elements > 0) {
      segment_.Fail(InvalidArgument(
          "out", "one result for all needs a buffer that " + segment_.NameOf(0) + " got from Allocate"));
    }
  } else if (operation_.kind == Collective::kBroadcast && !leader) {
    way_ = Way::kFromRoot;
  } else if (all_in_segment && !leader && !pairs_) {
    way_ = Way::kInto;
  } else {
    way_ = Way::kRing;
    if (operation_.elements == 0) return;
    if (Status status = segment_.ReserveResults(); !status.ok()) segment_.Fail(status);
  }
}

bool Exchange::Ended() {
  if (ended_) return true;
  if (!Agreed()) return false;
  for (const Half& half : half_) {
    if (half.delivered < half.count || half.taken < half.count) return false;
    if (half.offered < half.count || half.gathered < half.count) return false;
  }
  // Others copy from this process' own buffer.
  const bool read_by_others =
      (way_ == Way::kFromRoot && gives()) ||
      (way_ == Way::kOnePlace && !operation_.one_result && wants() && operation_.out == one_place_);
  for (int h = 0; h < kHalves; ++h) {
    if (read_by_others && !AllTook(h, half_[h].base + half_[h].count)) return false;
  }
  ended_ = true;
  segment_.own().finished.Set(sequence_);
  return true;
}

std::optional<std::uint64_t> Exchange::ResultOffset() {
  if (one_place_ == nullptr) return std::nullopt;
  return segment_.OffsetOf(one_place_, operation_.bytes());
}

bool Exchange::large() const {
  constexpr std::size_t kCacheBytes = std::size_t{4} << 20;
  return operation_.bytes() >= kCacheBytes;
}

}  // namespace glim::hfreduce
