#include "sdk/hfreduce/node/pair_swap.h"

#include "sdk/base/check.h"

namespace glim::hfreduce {

PairSwap::PairSwap(Segment& segment, const LocalPair& pair, std::size_t slot_bytes, std::uint32_t stage_slots)
    : segment_(segment),
      pair_(pair),
      partner_(segment.local_rank() == pair.first ? pair.second : pair.first),
      half_bytes_(stage_slots * slot_bytes),
      part_bytes_(slot_bytes / 2),
      slots_(stage_slots / 2) {
  GLIM_CHECK(slots_ > 0, "an exchange has two staging slots or more");
}

Range PairSwap::PartOf(const Range& chunk, bool first) {
  const std::size_t middle = chunk.count / 2;
  if (first) return {.begin = chunk.begin, .count = middle};
  return {.begin = chunk.begin + middle, .count = chunk.count - middle};
}

std::byte* PairSwap::Slot(Direction direction, std::uint32_t of, int half, std::uint64_t number) {
  const std::size_t row = direction * 2 + (of == pair_.first ? 0 : 1);
  return segment_.StageOf(pair_.second) + half * half_bytes_ + (row * slots_ + number % slots_) * part_bytes_;
}

std::byte* PairSwap::OfferSlot(int half, std::uint64_t number) {
  if (number >= slots_ && segment_.rank(partner_).arrived[half].Get() < number - slots_ + 1) return nullptr;
  return Slot(kUp, segment_.local_rank(), half, number);
}

void PairSwap::Offer(int half, std::uint64_t chunks) {
  segment_.own().offered[half].Set(chunks);
  RingPartner();
}

const std::byte* PairSwap::Offered(int half, std::uint64_t number) {
  if (segment_.rank(partner_).offered[half].Get() <= number) return nullptr;
  return Slot(kUp, partner_, half, number);
}

std::byte* PairSwap::PassSlot(int half, std::uint64_t number) {
  if (number >= slots_ && segment_.rank(partner_).gathered[half].Get() < number - slots_ + 1) return nullptr;
  return Slot(kDown, segment_.local_rank(), half, number);
}

void PairSwap::Pass(int half, std::uint64_t chunks) {
  segment_.own().passed[half].Set(chunks);
  RingPartner();
}

const std::byte* PairSwap::Passed(int half, std::uint64_t number) {
  if (segment_.rank(partner_).passed[half].Get() <= number) return nullptr;
  return Slot(kDown, partner_, half, number);
}

void PairSwap::Gathered(int half, std::uint64_t chunks) {
  segment_.own().gathered[half].Set(chunks);
  RingPartner();
}

}  // namespace glim::hfreduce
