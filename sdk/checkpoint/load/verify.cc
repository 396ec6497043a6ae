#include "sdk/checkpoint/load/verify.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/shard_header.h"
#include "sdk/checkpoint/load/plan.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kBatchBytes = std::uint64_t{64} << 20;  // read at once, kept until checked

struct PieceId {
  std::uint32_t tensor = 0;
  std::uint32_t piece = 0;
};

class Verifier {
 public:
  Verifier(ShardSource& source, CheckpointId id, const Manifest& manifest)
      : source_(source), id_(id), manifest_(manifest), pieces_(manifest.shards.size()) {
    for (std::uint32_t t = 0; t < manifest.tensors.size(); ++t) {
      const auto& pieces = manifest.tensors[t].pieces;
      for (std::uint32_t p = 0; p < pieces.size(); ++p) pieces_[pieces[p].shard].push_back({t, p});
    }
    for (auto& of_shard : pieces_) {
      std::sort(of_shard.begin(), of_shard.end(), [this](PieceId a, PieceId b) { return At(a).offset < At(b).offset; });
    }
  }

  Status Run() {
    for (std::uint32_t shard = 0; shard < pieces_.size(); ++shard) {
      if (Status status = CheckHeader(shard); !status.ok()) return status;
      if (Status status = CheckData(shard); !status.ok()) return status;
    }
    return Status::Ok();
  }

 private:
  const Piece& At(PieceId id) const { return manifest_.tensors[id.tensor].pieces[id.piece]; }

  Status Bad(std::uint32_t shard, const std::string& what) const {
    return Status(StatusCode::kDataLoss, manifest_.shards[shard].file + ": " + what).WithReason("BAD_SHARD");
  }

  Status Read(std::uint32_t shard, std::uint64_t offset, std::span<std::byte> into) {
    const ReadRange range{shard, offset, into};
    const auto report = source_.Read(id_, manifest_, {&range, 1}, [](std::size_t) { return Status::Ok(); });
    return report.ok() ? Status::Ok() : report.status();
  }

  Status CheckHeader(std::uint32_t shard) {
    const Shard& wanted = manifest_.shards[shard];
    std::byte first[8];
    if (wanted.bytes < sizeof first) return Bad(shard, "too short for a header");
    if (Status status = Read(shard, 0, first); !status.ok()) return status;
    const Result<std::uint64_t> header_bytes = ShardHeaderBytes(first, wanted.bytes);
    if (!header_bytes.ok()) return Bad(shard, header_bytes.status().message());
    std::string text(*header_bytes, '\0');
    if (Status status = Read(shard, 0, std::as_writable_bytes(std::span(text))); !status.ok()) return status;
    if (Crc32c(std::as_bytes(std::span(text))) != wanted.header_crc32c) {
      return Bad(shard, "the header's checksum is another than when it was saved");
    }
    const Result<ShardHeader> header = ParseShardHeader(text, wanted.bytes);
    if (!header.ok()) return Bad(shard, header.status().message());
    return Compare(shard, *header);
  }

  // Every array of the header that has bytes is a piece of the manifest, and the other way round.
  Status Compare(std::uint32_t shard, const ShardHeader& header) {
    auto piece = pieces_[shard].begin();
    const auto end = pieces_[shard].end();
    for (const ShardEntry& entry : header.entries) {
      if (entry.begin == entry.end) continue;
      if (piece == end) return Bad(shard, "the header has '" + entry.name + "', the manifest has not");
      const TensorEntry& tensor = manifest_.tensors[piece->tensor];
      const Piece& wanted = At(*piece);
      const std::string part = tensor.info.name + "@" + std::to_string(wanted.at);
      if ((entry.name != tensor.info.name && !entry.name.starts_with(part)) || entry.dtype != tensor.info.dtype ||
          header.data_start + entry.begin != wanted.offset || entry.end - entry.begin != wanted.bytes) {
        return Bad(shard,
                   "the header's '" + entry.name + "' is not what the manifest says of '" + tensor.info.name + "'");
      }
      ++piece;
    }
    if (piece == end) return Status::Ok();
    return Bad(shard, "the manifest has '" + manifest_.tensors[piece->tensor].info.name + "', the header has not");
  }

  Status CheckData(std::uint32_t shard) {
    std::vector<ChunkId> batch;
    std::uint64_t bytes = 0;
    for (const PieceId id : pieces_[shard]) {
      const Piece& piece = At(id);
      for (std::uint32_t chunk = 0; chunk < piece.crc32c.size(); ++chunk) {
        batch.push_back({id.tensor, id.piece, chunk});
        bytes += BytesOf(piece, batch.back());
        if (bytes < kBatchBytes) continue;
        if (Status status = CheckBatch(shard, batch, bytes); !status.ok()) return status;
        batch.clear();
        bytes = 0;
      }
    }
    return CheckBatch(shard, batch, bytes);
  }

  Status CheckBatch(std::uint32_t shard, const std::vector<ChunkId>& batch, std::uint64_t bytes) {
    if (batch.empty()) return Status::Ok();
    if (memory_.size() < bytes + kDataAlignment) memory_.resize(bytes + kDataAlignment);
    // Congruent to the place in the file, so that O_DIRECT reads into it.
    const Piece& first = manifest_.tensors[batch[0].tensor].pieces[batch[0].piece];
    const std::uint64_t offset = first.offset + BeginOf(batch[0]);
    std::byte* place = memory_.data() + (offset - reinterpret_cast<std::uintptr_t>(memory_.data())) % kDataAlignment;
    std::vector<ReadRange> ranges;
    ranges.reserve(batch.size());
    for (const ChunkId id : batch) {
      const Piece& piece = manifest_.tensors[id.tensor].pieces[id.piece];
      ranges.push_back({shard, piece.offset + BeginOf(id), {place, BytesOf(piece, id)}});
      place += BytesOf(piece, id);
    }
    const auto report = source_.Read(id_, manifest_, ranges,
                                     [&](std::size_t i) { return CheckChunk(manifest_, batch[i], ranges[i].into); });
    return report.ok() ? Status::Ok() : report.status();
  }

  ShardSource& source_;
  const CheckpointId id_;
  const Manifest& manifest_;
  std::vector<std::vector<PieceId>> pieces_;  // of each shard, by offset
  std::vector<std::byte> memory_;
};

}  // namespace

Status VerifyCheckpoint(ShardSource& source, CheckpointId id, const Manifest& manifest) {
  return Verifier(source, id, manifest).Run();
}

}  // namespace glim::checkpoint
