#include "sdk/checkpoint/load/plan.h"

#include <algorithm>
#include <string_view>

#include "sdk/base/suggest.h"
#include "sdk/checkpoint/format/crc32c.h"

namespace glim::checkpoint {
namespace {

Status NoSuchTensor(const Manifest& manifest, const std::string& name) {
  std::vector<std::string_view> names;
  names.reserve(manifest.tensors.size());
  for (const TensorEntry& tensor : manifest.tensors) names.push_back(tensor.info.name);
  const std::string near = Nearest(name, names);
  return InvalidArgument("tensor", "the checkpoint has no tensor '" + name + "'",
                         near.empty() ? "list the names with `glim ckpt show`" : "did you mean '" + near + "'?");
}

std::uint64_t BytesOf(const TensorEntry& tensor) {
  return tensor.pieces.empty() ? 0 : tensor.pieces.back().at + tensor.pieces.back().bytes;
}

// The part of `range` that lies in `piece`, which it touches.
void PlanPiece(const Piece& piece, ChunkId id, const LoadRange& range, LoadPlan& plan) {
  const std::uint64_t begin = std::max(range.at, piece.at);
  const std::uint64_t end = std::min(range.at + range.into.size(), piece.at + piece.bytes);
  id.chunk = static_cast<std::uint32_t>((begin - piece.at) / kChunkBytes);
  for (std::uint64_t at = begin; at < end; ++id.chunk) {
    const std::uint64_t chunk_begin = piece.at + BeginOf(id);
    const std::uint64_t chunk_bytes = BytesOf(piece, id);
    const std::uint64_t stop = std::min(end, chunk_begin + chunk_bytes);
    const std::span<std::byte> into = range.into.subspan(at - range.at, stop - at);
    if (into.size() == chunk_bytes) {
      plan.whole.push_back({id, into});
    } else {
      plan.parts.push_back({id, at - chunk_begin, into});
    }
    at = stop;
  }
}

}  // namespace

std::uint64_t BeginOf(ChunkId id) { return id.chunk * kChunkBytes; }

std::uint64_t BytesOf(const Piece& piece, ChunkId id) { return std::min(kChunkBytes, piece.bytes - BeginOf(id)); }

std::string Describe(const Manifest& manifest, ChunkId id) {
  const TensorEntry& tensor = manifest.tensors[id.tensor];
  const Piece& piece = tensor.pieces[id.piece];
  const std::uint64_t begin = piece.at + BeginOf(id);
  return "chunk " + std::to_string(id.chunk) + " of tensor '" + tensor.info.name + "' (bytes " + std::to_string(begin) +
         " to " + std::to_string(begin + BytesOf(piece, id)) + ") in " + manifest.shards[piece.shard].file;
}

Status CheckChunk(const Manifest& manifest, ChunkId id, std::span<const std::byte> data) {
  const Piece& piece = manifest.tensors[id.tensor].pieces[id.piece];
  if (Crc32c(data) == piece.crc32c[id.chunk]) return Status::Ok();
  return Status(StatusCode::kDataLoss, Describe(manifest, id) + ": the checksum is another than when it was saved")
      .WithReason("BAD_CHUNK")
      .WithField(manifest.tensors[id.tensor].info.name)
      .WithFix("load the checkpoint before, or a replica");
}

Result<LoadPlan> PlanLoad(const Manifest& manifest, std::span<const LoadRange> ranges) {
  LoadPlan plan;
  plan.whole.reserve(ranges.size());
  for (const LoadRange& range : ranges) {
    const TensorEntry* tensor = manifest.Find(range.tensor);
    if (tensor == nullptr) return NoSuchTensor(manifest, range.tensor);
    const std::uint64_t bytes = BytesOf(*tensor);
    if (range.at > bytes || range.into.size() > bytes - range.at) {
      return InvalidArgument(range.tensor,
                             "bytes " + std::to_string(range.at) + " and " + std::to_string(range.into.size()) +
                                 " more of tensor '" + range.tensor + "', which has " + std::to_string(bytes),
                             "ask for what it has");
    }
    if (range.into.empty()) continue;
    const auto& pieces = tensor->pieces;
    const auto after = std::upper_bound(pieces.begin(), pieces.end(), range.at,
                                        [](std::uint64_t at, const Piece& piece) { return at < piece.at; });
    for (auto piece = after - 1; piece != pieces.end() && piece->at < range.at + range.into.size(); ++piece) {
      const ChunkId id{static_cast<std::uint32_t>(tensor - manifest.tensors.data()),
                       static_cast<std::uint32_t>(piece - pieces.begin()), 0};
      PlanPiece(*piece, id, range, plan);
    }
  }
  std::stable_sort(plan.parts.begin(), plan.parts.end(),
                   [](const PartOfChunk& a, const PartOfChunk& b) { return a.id < b.id; });
  return plan;
}

}  // namespace glim::checkpoint
