#include "sdk/checkpoint/format/manifest_merge.h"

#include <algorithm>
#include <utility>

#include "sdk/base/utf8.h"
#include "sdk/checkpoint/format/manifest_check.h"

namespace glim::checkpoint {
namespace {

Status Refused(std::string field, std::string message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, std::move(message))
      .WithReason("RANKS_DISAGREE")
      .WithField(std::move(field))
      .WithFix(std::move(fix));
}

Status TensorRefused(const TensorEntry& entry, const std::string& message, std::string fix) {
  return Refused(Printable(entry.info.name), "the tensor \"" + Printable(entry.info.name) + "\": " + message,
                 std::move(fix));
}

Status CheckSameSave(const std::vector<Manifest>& parts) {
  if (parts.empty() || parts.size() != parts[0].world_size) {
    return Refused(
        "world_size",
        std::to_string(parts.size()) + " parts, expected " + std::to_string(parts.empty() ? 1 : parts[0].world_size),
        "give the part of each rank");
  }
  for (std::size_t rank = 1; rank < parts.size(); ++rank) {
    const Manifest& part = parts[rank];
    if (part.attempt == parts[0].attempt && part.step == parts[0].step && part.world_size == parts[0].world_size) {
      continue;
    }
    return Refused("rank " + std::to_string(rank),
                   "the part of rank " + std::to_string(rank) + " is of another save than rank 0's: attempt " +
                       std::to_string(part.attempt) + ", step " + std::to_string(part.step) + ", world size " +
                       std::to_string(part.world_size),
                   "save the same step on all ranks");
  }
  return Status::Ok();
}

// `entry` once more, from another rank.
Status Join(TensorEntry& whole, TensorEntry entry) {
  if (whole.info.dtype != entry.info.dtype || whole.info.shape != entry.info.shape) {
    return TensorRefused(whole, "type or shape are not the same on all ranks",
                         "give it a name of its own on each rank");
  }
  if (whole.by_rows != entry.by_rows) {
    return TensorRefused(whole, "some ranks give rows of it, others all of it", "say the same on all ranks");
  }
  whole.pieces.insert(whole.pieces.end(), std::make_move_iterator(entry.pieces.begin()),
                      std::make_move_iterator(entry.pieces.end()));
  return Status::Ok();
}

// Every byte once. What else a manifest must be is CheckManifest's.
Status CheckCovered(const TensorEntry& entry, const std::vector<Shard>& shards) {
  const Result<std::uint64_t> bytes = entry.info.bytes();
  if (!bytes.ok()) return bytes.status();
  std::uint64_t end = 0;
  for (std::size_t k = 0; k < entry.pieces.size(); ++k) {
    const Piece& piece = entry.pieces[k];
    if (piece.at < end) {
      return TensorRefused(entry,
                           "bytes from " + std::to_string(piece.at) + " are both in " +
                               shards[entry.pieces[k - 1].shard].file + " and in " + shards[piece.shard].file,
                           "give it a name of its own on each rank, or save it as replicated or by rows");
    }
    if (piece.at > end) break;
    end = piece.at + piece.bytes;
  }
  if (end >= *bytes) return Status::Ok();
  return TensorRefused(entry, "no rank wrote its bytes from " + std::to_string(end),
                       "save it on all ranks that hold a share of it");
}

}  // namespace

Result<Manifest> Merge(std::vector<Manifest> parts) {
  if (Status status = CheckSameSave(parts); !status.ok()) return status;
  Manifest whole;
  whole.attempt = parts[0].attempt;
  whole.step = parts[0].step;
  whole.world_size = parts[0].world_size;
  whole.created_at_ms = parts[0].created_at_ms;
  whole.metadata = std::move(parts[0].metadata);
  std::vector<TensorEntry> entries;
  for (Manifest& part : parts) {
    const auto shards_before = static_cast<std::uint32_t>(whole.shards.size());
    whole.shards.insert(whole.shards.end(), part.shards.begin(), part.shards.end());
    for (TensorEntry& entry : part.tensors) {
      for (Piece& piece : entry.pieces) {
        if (piece.shard >= part.shards.size()) return TensorRefused(entry, "a piece in a shard that no rank wrote", "");
        piece.shard += shards_before;
      }
    }
    entries.insert(entries.end(), std::make_move_iterator(part.tensors.begin()),
                   std::make_move_iterator(part.tensors.end()));
  }
  const auto is_before = [](const TensorEntry& a, const TensorEntry& b) { return a.info.name < b.info.name; };
  if (!std::is_sorted(entries.begin(), entries.end(), is_before)) {
    std::stable_sort(entries.begin(), entries.end(), is_before);
  }
  whole.tensors.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    if (whole.tensors.empty() || whole.tensors.back().info.name != entry.info.name) {
      whole.tensors.push_back(std::move(entry));
    } else if (Status status = Join(whole.tensors.back(), std::move(entry)); !status.ok()) {
      return status;
    }
  }
  for (TensorEntry& entry : whole.tensors) {
    std::sort(entry.pieces.begin(), entry.pieces.end(), [](const Piece& a, const Piece& b) { return a.at < b.at; });
    if (Status status = CheckCovered(entry, whole.shards); !status.ok()) return status;
  }
  if (const Status status = CheckManifest(whole, Extent::kWhole); !status.ok()) {
    return Refused(status.field(), "the parts do not fit each other: " + status.message(), "");
  }
  return whole;
}

}  // namespace glim::checkpoint
