#include "cli/checkpoints/compare.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace glim::cli {
namespace {

using checkpoint::Checkpoint;
using checkpoint::Piece;
using checkpoint::TensorEntry;

constexpr std::uint64_t kBlockBytes = std::uint64_t{32} << 20;  // of each tensor at once in memory

bool CutAlike(const TensorEntry& a, const TensorEntry& b) {
  return std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
                    [](const Piece& x, const Piece& y) { return x.at == y.at && x.bytes == y.bytes; });
}

bool SameChecksums(const TensorEntry& a, const TensorEntry& b) {
  return std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(),
                    [](const Piece& x, const Piece& y) { return x.crc32c == y.crc32c; });
}

Result<bool> SameBytes(Checkpoint& first, Checkpoint& second, const checkpoint::TensorInfo& info) {
  const auto bytes = info.bytes();
  if (!bytes.ok()) return bytes.status();
  const std::uint64_t block = std::min(*bytes, kBlockBytes);
  std::array<std::unique_ptr<std::byte[]>, 2> buffers;
  for (auto& buffer : buffers) buffer.reset(new std::byte[block]);
  for (std::uint64_t at = 0; at < *bytes; at += block) {
    const auto length = static_cast<std::size_t>(std::min(block, *bytes - at));
    const std::array<Checkpoint*, 2> sides = {&first, &second};
    for (std::size_t side = 0; side < sides.size(); ++side) {
      const std::array<checkpoint::LoadRange, 1> range = {{{info.name, at, {buffers[side].get(), length}}}};
      const auto loaded = sides[side]->Load(range);
      if (!loaded.ok()) return loaded.status();
    }
    if (std::memcmp(buffers[0].get(), buffers[1].get(), length) != 0) return false;
  }
  return true;
}

Result<bool> SameData(Checkpoint& first, Checkpoint& second, const TensorEntry& a, const TensorEntry& b) {
  if (CutAlike(a, b)) return SameChecksums(a, b);
  return SameBytes(first, second, a.info);
}

}  // namespace

Result<Comparison> Compare(Checkpoint& first, Checkpoint& second) {
  Comparison result;
  const auto& before = first.manifest().tensors;
  const auto& after = second.manifest().tensors;
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    const bool only_a = b == after.end() || (a != before.end() && a->info.name < b->info.name);
    const bool only_b = a == before.end() || (b != after.end() && b->info.name < a->info.name);
    if (only_a) {
      result.changes.push_back({a->info.name, Change::kRemoved, a->info, {}});
      ++a;
      continue;
    }
    if (only_b) {
      result.changes.push_back({b->info.name, Change::kAdded, {}, b->info});
      ++b;
      continue;
    }
    TensorChange change{a->info.name, Change::kChanged, a->info, b->info};
    Result<bool> same = false;
    if (a->info.dtype != b->info.dtype) {
      change.change = Change::kTyped;
    } else if (a->info.shape != b->info.shape) {
      change.change = Change::kShaped;
    } else {
      same = SameData(first, second, *a, *b);
    }
    if (!same.ok()) return same.status();
    if (*same) {
      ++result.same;
    } else {
      result.changes.push_back(std::move(change));
    }
    ++a;
    ++b;
  }
  return result;
}

}  // namespace glim::cli
