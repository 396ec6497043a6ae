#include "sdk/checkpoint/load/checkpoint.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "sdk/checkpoint/load/disk_source.h"
#include "sdk/checkpoint/load/plan.h"
#include "sdk/checkpoint/load/verify.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kBesideBytesMax = std::uint64_t{256} << 20;  // of chunks that are wanted in part, at once

void Add(const IoReport& more, IoReport& sum) {
  sum.kind = more.kind;
  sum.direct = more.direct;
  sum.registered = more.registered;
  sum.bytes += more.bytes;
  sum.micros += more.micros;
}

class OpenedCheckpoint final : public Checkpoint {
 public:
  OpenedCheckpoint(CheckpointId id, Manifest manifest, ShardSource& source, std::unique_ptr<ShardSource> owned)
      : id_(id), manifest_(std::move(manifest)), source_(source), owned_(std::move(owned)) {}

  const CheckpointId& id() const override { return id_; }
  const Manifest& manifest() const override { return manifest_; }

  Result<IoReport> Load(std::span<const LoadRange> ranges) override {
    Result<LoadPlan> plan = PlanLoad(manifest_, ranges);
    if (!plan.ok()) return plan.status();
    IoReport sum;
    std::span<const WholeChunk> whole = plan->whole;
    std::span<const PartOfChunk> parts = plan->parts;
    while (!whole.empty() || !parts.empty()) {
      const Result<IoReport> report = ReadSome(std::exchange(whole, {}), TakeParts(parts));
      if (!report.ok()) return report.status();
      Add(*report, sum);
    }
    return sum;
  }

  std::vector<std::string> Matching(const std::string& pattern) const override {
    std::vector<std::string> names;
    for (const TensorEntry& tensor : manifest_.tensors) {
      if (::fnmatch(pattern.c_str(), tensor.info.name.c_str(), 0) == 0) names.push_back(tensor.info.name);
    }
    return names;
  }

  Status Verify() override { return VerifyCheckpoint(source_, id_, manifest_); }

 private:
  const Piece& PieceOf(ChunkId id) const { return manifest_.tensors[id.tensor].pieces[id.piece]; }

  ReadRange RangeOf(ChunkId id, std::byte* into) const {
    const Piece& piece = PieceOf(id);
    return {piece.shard, piece.offset + BeginOf(id), {into, BytesOf(piece, id)}};
  }

  // Takes the parts of as many chunks as may lie beside at once from the front of `parts`.
  std::span<const PartOfChunk> TakeParts(std::span<const PartOfChunk>& parts) const {
    std::uint64_t bytes = 0;
    std::size_t i = 0;
    for (; i < parts.size(); ++i) {
      if (i > 0 && parts[i].id == parts[i - 1].id) continue;
      bytes += BytesOf(PieceOf(parts[i].id), parts[i].id);
      if (i > 0 && bytes > kBesideBytesMax) break;
    }
    const auto taken = parts.first(i);
    parts = parts.subspan(i);
    return taken;
  }

  Result<IoReport> ReadSome(std::span<const WholeChunk> whole, std::span<const PartOfChunk> parts) {
    std::vector<std::size_t> groups;  // where in `parts` each chunk's begin
    std::uint64_t beside_bytes = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i > 0 && parts[i].id == parts[i - 1].id) continue;
      groups.push_back(i);
      beside_bytes += BytesOf(PieceOf(parts[i].id), parts[i].id);
    }
    groups.push_back(parts.size());
    const std::unique_ptr<std::byte[]> beside(new std::byte[beside_bytes]);  // not zeroed: it is read over
    std::vector<ReadRange> reads;
    reads.reserve(whole.size() + groups.size());
    for (const WholeChunk& chunk : whole) reads.push_back(RangeOf(chunk.id, chunk.into.data()));
    std::byte* place = beside.get();
    for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
      reads.push_back(RangeOf(parts[groups[g]].id, place));
      place += reads.back().into.size();
    }
    return source_.Read(id_, manifest_, reads, [&](std::size_t i) -> Status {
      if (i < whole.size()) return CheckChunk(manifest_, whole[i].id, reads[i].into);
      const std::size_t group = i - whole.size();
      const auto wanted = parts.subspan(groups[group], groups[group + 1] - groups[group]);
      if (Status status = CheckChunk(manifest_, wanted[0].id, reads[i].into); !status.ok()) return status;
      for (const PartOfChunk& part : wanted)
        std::memcpy(part.into.data(), reads[i].into.data() + part.from, part.into.size());
      return Status::Ok();
    });
  }

  const CheckpointId id_;
  const Manifest manifest_;
  ShardSource& source_;
  const std::unique_ptr<ShardSource> owned_;
};

Result<std::unique_ptr<Checkpoint>> Open(ShardSource& source, std::unique_ptr<ShardSource> owned, CheckpointId id) {
  Result<Manifest> manifest = source.ReadManifest(id);
  if (!manifest.ok()) return manifest.status();
  if (manifest->attempt != id.attempt || manifest->step != id.step) {
    return Status(StatusCode::kDataLoss,
                  PathOf(id) + ": its manifest is that of " + PathOf({manifest->attempt, manifest->step}))
        .WithReason("BAD_MANIFEST")
        .WithField("step");
  }
  return std::unique_ptr<Checkpoint>(
      std::make_unique<OpenedCheckpoint>(id, std::move(*manifest), source, std::move(owned)));
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> OpenCheckpoint(const Directory& directory, CheckpointId id,
                                                   const LoaderOptions& options) {
  Result<std::unique_ptr<ShardSource>> disk = OpenDiskSource(directory, id, options.io);
  if (!disk.ok()) return disk.status();
  ShardSource& source = **disk;
  return Open(source, std::move(*disk), id);
}

Result<std::unique_ptr<Checkpoint>> OpenCheckpoint(ShardSource& source, CheckpointId id) {
  return Open(source, nullptr, id);
}

}  // namespace glim::checkpoint
