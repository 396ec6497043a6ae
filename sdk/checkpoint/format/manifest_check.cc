#include "sdk/checkpoint/format/manifest_check.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "sdk/base/printable.h"
#include "sdk/base/utf8.h"
#include "sdk/checkpoint/format/damaged.h"
#include "sdk/checkpoint/format/shard_header.h"

namespace glim::checkpoint {
namespace {

std::string Indexed(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

Status Bad(std::string field, const std::string& message) { return Damaged("BAD_MANIFEST", std::move(field), message); }

// A name that means the same on every file system and leads nowhere else.
bool IsPlainFileName(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
                  c == '-';
         });
}

Status CheckShards(const std::vector<Shard>& shards) {
  std::vector<std::pair<std::string_view, std::size_t>> names;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    if (!IsPlainFileName(shards[i].file)) {
      return Bad(Indexed("shards", i) + ".file", "\"" + Printable(shards[i].file) + "\" is not a plain file name");
    }
    if (shards[i].bytes < kDataAlignment || shards[i].bytes > kTensorBytesMax) {
      return Bad(Indexed("shards", i) + ".bytes", "a shard has at least 4096 bytes, and at most 2^62");
    }
    names.emplace_back(shards[i].file, i);
  }
  std::sort(names.begin(), names.end());
  const auto twice =
      std::adjacent_find(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == names.end()) return Status::Ok();
  return Bad(Indexed("shards", std::next(twice)->second) + ".file", "two shards have this name");
}

constexpr std::uint64_t kStepMax = 0x7FFF'FFFF'FFFF'FFFF;

// A range of a shard's bytes, and whose it is.
struct ShardRange {
  std::uint32_t shard;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::size_t tensor;
  std::size_t piece;
};

class Checker {
 public:
  Checker(const Manifest& manifest, Extent extent) : manifest_(manifest), extent_(extent) {}

  Status CheckTensor(std::size_t i) {
    const TensorEntry& entry = manifest_.tensors[i];
    if (const Status status = entry.info.Check(); !status.ok()) {
      return Bad(Indexed("tensors", i) + "." + status.field(), status.message());
    }
    if (i > 0 && manifest_.tensors[i - 1].info.name >= entry.info.name) {
      return Bad(Indexed("tensors", i) + ".name", "names are in order, each once");
    }
    if (entry.by_rows && entry.info.shape.empty()) {
      return Bad(Indexed("tensors", i) + ".by_rows", "a scalar has no rows");
    }
    const std::uint64_t tensor_bytes = *BytesOf(entry.info.dtype, entry.info.shape);
    const std::uint64_t unit =
        entry.by_rows && tensor_bytes > 0 ? tensor_bytes / entry.info.shape[0] : SizeOf(entry.info.dtype);
    std::uint64_t end = 0;
    for (std::size_t k = 0; k < entry.pieces.size(); ++k) {
      const Piece& piece = entry.pieces[k];
      if (Status status = CheckPiece(i, k, unit); !status.ok()) return status;
      if (piece.at < end || (piece.at > end && extent_ == Extent::kWhole)) {
        return Bad(FieldOf(i, k, "at"), piece.at < end ? "the bytes overlap those of the piece before"
                                                       : "bytes are missing before this piece");
      }
      end = piece.at + piece.bytes;
      if (end > tensor_bytes) return Bad(FieldOf(i, k, "bytes"), "more than the tensor has");
    }
    if (end < tensor_bytes && extent_ == Extent::kWhole) {
      return Bad(Indexed("tensors", i) + ".pieces",
                 "bytes are missing: " + std::to_string(end) + " of " + std::to_string(tensor_bytes) + " are there");
    }
    return Status::Ok();
  }

  // After all tensors: in each shard the pieces are the data, from its first byte to the file's last.
  Status CheckShardsCovered() {
    std::sort(ranges_.begin(), ranges_.end(), [](const ShardRange& a, const ShardRange& b) {
      return std::pair(a.shard, a.offset) < std::pair(b.shard, b.offset);
    });
    auto range = ranges_.begin();
    for (std::uint32_t shard = 0; shard < manifest_.shards.size(); ++shard) {
      std::uint64_t end = 0;
      for (; range != ranges_.end() && range->shard == shard; ++range) {
        const bool fits = end == 0 ? range->offset % kDataAlignment == 0 : range->offset == end;
        if (!fits) {
          return Bad(FieldOf(range->tensor, range->piece, "offset"),
                     end == 0              ? "a shard's data begins at a multiple of 4096"
                     : range->offset < end ? "the bytes overlap those of another piece in the shard"
                                           : "there is a hole in the shard before this piece");
        }
        end = range->offset + range->bytes;
      }
      const std::uint64_t shard_bytes = manifest_.shards[shard].bytes;
      if (end == 0 ? shard_bytes % kDataAlignment != 0 : shard_bytes != end) {
        return Bad(Indexed("shards", shard) + ".bytes", "the pieces do not end where the shard ends");
      }
    }
    return Status::Ok();
  }

 private:
  static std::string FieldOf(std::size_t tensor, std::size_t piece, const char* name) {
    return Indexed("tensors", tensor) + Indexed(".pieces", piece) + "." + name;
  }

  Status CheckPiece(std::size_t i, std::size_t k, std::uint64_t unit) {
    const Piece& piece = manifest_.tensors[i].pieces[k];
    if (piece.shard >= manifest_.shards.size()) return Bad(FieldOf(i, k, "shard"), "there is no such shard");
    if (piece.bytes == 0 || piece.bytes > kTensorBytesMax || piece.bytes % unit != 0) {
      return Bad(FieldOf(i, k, "bytes"), "not a multiple of " + std::to_string(unit) + " above 0");
    }
    if (piece.at > kTensorBytesMax || piece.at % unit != 0) {
      return Bad(FieldOf(i, k, "at"), "not a multiple of " + std::to_string(unit));
    }
    const std::uint64_t shard_bytes = manifest_.shards[piece.shard].bytes;
    if (piece.offset < kDataAlignment || piece.offset > shard_bytes || piece.bytes > shard_bytes - piece.offset) {
      return Bad(FieldOf(i, k, "offset"), "the piece does not lie in the data of its shard");
    }
    const std::uint64_t chunks = (piece.bytes + kChunkBytes - 1) / kChunkBytes;
    if (piece.crc32c.size() != chunks) {
      return Bad(FieldOf(i, k, "crc32c"),
                 std::to_string(piece.crc32c.size()) + " checksums for " + std::to_string(chunks) + " chunks");
    }
    ranges_.push_back({piece.shard, piece.offset, piece.bytes, i, k});
    return Status::Ok();
  }

  const Manifest& manifest_;
  Extent extent_;
  std::vector<ShardRange> ranges_;
};

}  // namespace

Status CheckMetadata(const std::map<std::string, std::string>& metadata) {
  for (const auto& [key, value] : metadata) {
    if (IsUtf8(key) && IsUtf8(value)) continue;
    return Status(StatusCode::kInvalidArgument, "metadata \"" + Printable(key) + "\": key and value must be UTF-8")
        .WithReason("BAD_METADATA")
        .WithField("metadata." + Printable(key))
        .WithFix("encode what is not text, for example in base64");
  }
  return Status::Ok();
}

Status CheckManifest(const Manifest& manifest, Extent extent) {
  if (manifest.step > kStepMax) return Bad("step", "above 2^63 - 1");
  if (manifest.world_size == 0) return Bad("world_size", "at least 1");
  if (manifest.created_at_ms < 0) return Bad("created_at_ms", "not before 1970");
  if (Status status = CheckMetadata(manifest.metadata); !status.ok()) return Bad(status.field(), status.message());
  if (Status status = CheckShards(manifest.shards); !status.ok()) return status;
  Checker checker(manifest, extent);
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    if (Status status = checker.CheckTensor(i); !status.ok()) return status;
  }
  return checker.CheckShardsCovered();
}

}  // namespace glim::checkpoint
