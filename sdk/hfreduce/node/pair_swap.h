// What the two of a pair give each other: in the segment, the host's stand-in for memory that NVLink reaches. Of every
// chunk the lower rank has the first part, the upper one the second.
//
//   up:   each offers the part that its partner has, the partner adds its own to it: together they have delivered one
//         chunk, in the lower rank's staging slot
//   down: each takes its part of the result, passes it on, and gathers the other one
//
// (Section IV.C of the Fire-Flyer paper, where this halves what crosses each GPU's PCIe link. Here all of it goes
// through the host's memory: what is there is the order of the work, not its gain.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "sdk/hfreduce/node/segment.h"
#include "sdk/hfreduce/tree/chunking.h"

namespace glim::hfreduce {

// Operations of at most so many bytes leave the pairs alone: another meeting costs more than the half that is saved.
inline constexpr std::size_t kPairBytesMin = std::size_t{16} << 10;

// One rank's side. Chunks of a half are counted on from operation to operation. Not thread-safe.
class PairSwap {
 public:
  // Uses the upper rank's staging area, in which nothing is staged; of both its halves `stage_slots` of slot_bytes. The
  // segment must outlive it.
  PairSwap(Segment& segment, const LocalPair& pair, std::size_t slot_bytes, std::uint32_t stage_slots);

  bool is_first() const { return segment_.local_rank() == pair_.first; }
  const LocalPair& pair() const { return pair_; }
  Range OwnPart(const Range& chunk) const { return PartOf(chunk, is_first()); }
  Range PartnersPart(const Range& chunk) const { return PartOf(chunk, !is_first()); }

  // Where to put the partner's part of a chunk; null: it still reads an earlier one there.
  std::byte* OfferSlot(int half, std::uint64_t number);
  // As many are there now.
  void Offer(int half, std::uint64_t chunks);
  // This rank's part of the partner's chunk; null: not there yet.
  const std::byte* Offered(int half, std::uint64_t number);

  // The same for results.
  std::byte* PassSlot(int half, std::uint64_t number);
  void Pass(int half, std::uint64_t chunks);
  const std::byte* Passed(int half, std::uint64_t number);
  void Gathered(int half, std::uint64_t chunks);

  void RingPartner() { segment_.bell().RingOne(partner_); }

 private:
  enum Direction { kUp = 0, kDown = 1 };

  static Range PartOf(const Range& chunk, bool first);
  std::byte* Slot(Direction direction, std::uint32_t of, int half, std::uint64_t number);

  Segment& segment_;
  LocalPair pair_;
  std::uint32_t partner_;
  std::size_t half_bytes_;  // of the staging area, for one half of the data
  std::size_t part_bytes_;
  std::uint32_t slots_;
};

}  // namespace glim::hfreduce
