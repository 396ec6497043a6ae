#include "sdk/checkpoint/io/read_plan.h"

#include <algorithm>

#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {
namespace {

class Planner {
 public:
  explicit Planner(const ReadPlanOptions& options) : options_(options) {}

  // Cut where the blocks of the file begin.
  void Add(std::uint32_t index, const ReadRange& range) {
    const std::uint64_t end = range.offset + range.into.size();
    for (std::uint64_t at = range.offset; at < end;) {
      const std::uint64_t block = at / options_.block_bytes * options_.block_bytes;
      const std::uint64_t bytes = std::min(block + options_.block_bytes, end) - at;
      AddPart({index, at, bytes, range.into.data() + (at - range.offset)}, IsDirect(block));
      at += bytes;
    }
  }

  ReadPlan Finish() {
    const auto by_begin = [](const auto& a, const auto& b) { return a.begin < b.begin; };
    for (std::vector<ReadPiece>* loose : {&buffered_, &direct_}) {
      if (!std::is_sorted(loose->begin(), loose->end(), by_begin)) {
        std::stable_sort(loose->begin(), loose->end(), by_begin);
      }
      Group(*loose, loose == &direct_);
    }
    std::stable_sort(plan_.reads.begin(), plan_.reads.end(), by_begin);
    return std::move(plan_);
  }

 private:
  bool IsDirect(std::uint64_t block) {
    if (!options_.direct) return false;
    if (block != asked_block_) {
      asked_block_ = block;
      asked_direct_ = !(options_.cached && options_.cached(block, options_.block_bytes));
    }
    return asked_direct_;
  }

  void AddPart(const ReadPiece& part, bool direct) {
    const std::uint64_t first = direct ? PagesUp(part.begin) : part.begin;
    const std::uint64_t last = direct ? PagesDown(part.begin + part.bytes) : part.begin + part.bytes;
    const auto place = reinterpret_cast<std::uintptr_t>(part.into + (first - part.begin));
    std::vector<ReadPiece>& loose = direct ? direct_ : buffered_;
    if (last < first + (direct ? kDirectStraightBytes : kStraightBytes) ||
        (direct && place % options_.memory_alignment != 0)) {
      loose.push_back(part);
      return;
    }
    const auto sub = [&](std::uint64_t from, std::uint64_t to) {
      return ReadPiece{part.range, from, to - from, part.into + (from - part.begin)};
    };
    if (part.begin < first) loose.push_back(sub(part.begin, first));
    plan_.reads.push_back({first, last, last, static_cast<std::uint32_t>(plan_.pieces.size()), 1, direct, true});
    plan_.pieces.push_back(sub(first, last));
    if (last < part.begin + part.bytes) loose.push_back(sub(last, part.begin + part.bytes));
  }

  // Neighbours become one read, if that stays within a block's length.
  void Group(const std::vector<ReadPiece>& loose, bool direct) {
    PlannedRead read;
    for (const ReadPiece& piece : loose) {
      const std::uint64_t piece_end = piece.begin + piece.bytes;
      const std::uint64_t begin = direct ? PagesDown(piece.begin) : piece.begin;
      const std::uint64_t end = direct ? PagesUp(piece_end) : piece_end;
      const bool joins = read.pieces > 0 && begin <= read.end + kGapBytes &&
                         std::max(end, read.end) - read.begin <= options_.block_bytes;
      if (!joins) {
        if (read.pieces > 0) plan_.reads.push_back(read);
        read = {begin, end, piece_end, static_cast<std::uint32_t>(plan_.pieces.size()), 0, direct, false};
      }
      plan_.pieces.push_back(piece);
      ++read.pieces;
      read.end = std::max(read.end, end);
      read.wanted_end = std::max(read.wanted_end, piece_end);
    }
    if (read.pieces > 0) plan_.reads.push_back(read);
  }

  const ReadPlanOptions& options_;
  std::uint64_t asked_block_ = ~std::uint64_t{0};
  bool asked_direct_ = false;
  std::vector<ReadPiece> buffered_, direct_;  // to be read beside
  ReadPlan plan_;
};

}  // namespace

ReadPlan PlanReads(std::span<const ReadRange> ranges, std::span<const std::uint32_t> order,
                   const ReadPlanOptions& options) {
  Planner planner(options);
  for (const std::uint32_t index : order) planner.Add(index, ranges[index]);
  return planner.Finish();
}

}  // namespace glim::checkpoint
