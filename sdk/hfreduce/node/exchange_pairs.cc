// The pairs' part of Exchange: what is delivered and taken by two.
#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/exchange.h"

namespace glim::hfreduce {

bool Exchange::OfferPart(int h) {
  Half& half = half_[h];
  if (half.offered == half.count || !Agreed()) return false;
  std::byte* const slot = swap_->OfferSlot(h, half.base + half.offered);
  if (slot == nullptr) return false;
  const Range part = swap_->PartnersPart(chunking_.RangeOf(h, half.offered));
  const std::byte* const from = OwnSource(h, half.offered, part);
  if (from == nullptr) return false;
  CopyBytes(slot, from, part.count * SizeOf(operation_.type), false);
  ++half.offered;
  swap_->Offer(h, half.base + half.offered);
  Beat();
  return true;
}

// The sum of a pair is rounded to the type: over NVLink, it is the GPU that adds.
bool Exchange::DeliverPart(int h) {
  Half& half = half_[h];
  const std::uint32_t chunk = half.delivered;
  if (chunk == half.count || !Agreed()) return false;
  if (chunk >= stage_slots_ && !SourcesRead(h, chunk - stage_slots_)) return false;
  const std::byte* const theirs = swap_->Offered(h, half.base + chunk);
  if (theirs == nullptr) return false;
  const Range whole = chunking_.RangeOf(h, chunk);
  const Range part = swap_->OwnPart(whole);
  const std::size_t element = SizeOf(operation_.type);
  const void* const own = OwnSource(h, chunk, part);
  if (own == nullptr) return false;
  const void* const sources[] = {swap_->is_first() ? own : theirs, swap_->is_first() ? theirs : own};
  std::byte* const to = StageSlot(swap_->pair().first, h, chunk) + (part.begin - whole.begin) * element;
  hfreduce::Reduce({.type = operation_.type, .op = operation_.op}, to, sources, part.count);
  Delivered(h);
  swap_->RingPartner();  // its next part may be offered
  return true;
}

// Of the result that lies there, for the partner.
bool Exchange::PassPart(int h, std::uint32_t chunk, const std::byte* result) {
  const std::uint64_t number = half_[h].base + chunk;
  std::byte* const slot = swap_->PassSlot(h, number);
  if (slot == nullptr) return false;
  const Range whole = chunking_.RangeOf(h, chunk);
  const Range part = swap_->OwnPart(whole);
  const std::size_t element = SizeOf(operation_.type);
  CopyBytes(slot, result + (part.begin - whole.begin) * element, part.count * element, false);
  swap_->Pass(h, number + 1);
  return true;
}

const std::byte* Exchange::OwnSource(int h, std::uint32_t chunk, const Range& part) {
  const std::size_t element = SizeOf(operation_.type);
  if (!fetches_) return operation_.in + part.begin * element;
  if (chunk >= half_[h].fetched) return nullptr;
  const std::size_t slot = h * std::size_t{stage_slots_} + chunk % stage_slots_;
  return bounce_ + slot * slot_bytes_ + (part.begin - chunking_.RangeOf(h, chunk).begin) * element;
}

bool Exchange::GatherPart(int h) {
  Half& half = half_[h];
  const std::byte* const from = swap_->Passed(h, half.base + half.gathered);
  if (from == nullptr) return false;
  const Range part = swap_->PartnersPart(chunking_.RangeOf(h, half.gathered));
  const std::size_t element = SizeOf(operation_.type);
  // The whole chunk goes to a device from the result.
  if (!lies_there() && !stores_) CopyBytes(operation_.out + part.begin * element, from, part.count * element, large());
  ++half.gathered;
  swap_->Gathered(h, half.base + half.gathered);
  Beat();
  return true;
}

}  // namespace glim::hfreduce
