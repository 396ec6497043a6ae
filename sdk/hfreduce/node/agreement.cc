#include "sdk/hfreduce/node/agreement.h"

#include <atomic>

namespace glim::hfreduce {
namespace {

bool Same(const OperationDescriptor& a, const OperationDescriptor& b) {
  return a.signature == b.signature && a.one_result == b.one_result;
}

}  // namespace

std::string Describe(const OperationDescriptor& operation) {
  return Describe(operation.signature) + (operation.one_result != 0 ? ", one result" : "");
}

void Agreement::Begin(const NodeOperation& operation, bool each_reduces) {
  operation_ = operation;
  each_reduces_ = each_reduces;
  agreed_ = false;
  way_ = Way::kUnknown;
  one_place_ = nullptr;
  ++sequence_;
}

OperationDescriptor& Agreement::DescriptorOf(std::uint32_t rank) const {
  return segment_.rank(rank).descriptors[sequence_ % 2];
}

void Agreement::Post(bool in_place, bool quietly) {
  OperationDescriptor& descriptor = DescriptorOf(segment_.local_rank());
  descriptor = {.signature = operation_.signature, .one_result = operation_.one_result};
  if (gives() && in_place) {
    descriptor.in_offset = segment_.OffsetOf(operation_.in, operation_.bytes()).value_or(kPrivate);
  }
  if (wants()) descriptor.out_offset = segment_.OffsetOf(operation_.out, operation_.bytes()).value_or(kPrivate);
  segment_.own().posted.Set(sequence_);
  counters_.Beat();
  // The last one lets the others go on.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (AllPosted() && !quietly) counters_.RingOthers();
}

bool Agreement::AllPosted() const {
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (segment_.rank(rank).posted.Get() < sequence_) return false;
  }
  return true;
}

bool Agreement::Agreed() {
  if (agreed_) return true;
  if (!AllPosted() || segment_.failed()) return false;
  Compare();
  if (segment_.failed()) return false;
  ChooseWay();
  agreed_ = !segment_.failed();
  return agreed_;
}

void Agreement::Compare() {
  const OperationDescriptor first = DescriptorOf(0);
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    const OperationDescriptor other = DescriptorOf(rank);
    if (!Same(first, other)) {
      segment_.Fail(InvalidArgument("", segment_.NameOf(rank) + " called " + Describe(other) + ", " +
                                            segment_.NameOf(0) + " " + Describe(first) + " (operation " +
                                            std::to_string(sequence_) + ")"));
      return;
    }
    const std::size_t bytes = other.signature.bytes();
    in_of_[rank] = other.in_offset != kPrivate ? segment_.At(other.in_offset, bytes) : nullptr;
    out_of_[rank] = other.out_offset != kPrivate ? segment_.At(other.out_offset, bytes) : nullptr;
    if ((other.in_offset != kPrivate && in_of_[rank] == nullptr) ||
        (other.out_offset != kPrivate && out_of_[rank] == nullptr)) {
      segment_.Fail(Status(StatusCode::kInternal, segment_.NameOf(rank) + " gave a buffer outside of the segment"));
      return;
    }
  }
}

void Agreement::ChooseWay() {
  bool all_in_segment = true;
  for (std::uint32_t rank = 0; rank < segment_.ranks(); ++rank) {
    if (operation_.TakenBy(rank) && out_of_[rank] == nullptr) all_in_segment = false;
  }
  const bool leader = counters_.reducer() == Reducer::kLeader;
  if (each_reduces_) {
    way_ = Way::kEach;
  } else if (operation_.one_result || (leader && out_of_[0] != nullptr)) {
    way_ = Way::kOnePlace;
    one_place_ = out_of_[0];
    if (one_place_ == nullptr && operation_.elements() > 0) {
      segment_.Fail(InvalidArgument(
          "out", "one result for all needs a buffer that " + segment_.NameOf(0) + " got from Allocate"));
    }
  } else if (operation_.signature.kind == Collective::kBroadcast && !leader) {
    way_ = Way::kFromRoot;
  } else if (all_in_segment && !leader) {
    way_ = Way::kInto;
  } else {
    way_ = Way::kRing;
    if (operation_.elements() == 0) return;
    if (Status status = segment_.ReserveResults(); !status.ok()) segment_.Fail(status);
  }
}

}  // namespace glim::hfreduce
