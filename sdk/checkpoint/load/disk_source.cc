#include "sdk/checkpoint/load/disk_source.h"

#include <string>
#include <utility>
#include <vector>

#include "sdk/checkpoint/directory/shards_there.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/io/batch_reader.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {
namespace {

class DiskSource final : public ShardSource {
 public:
  DiskSource(const Directory& directory, UniqueFd folder, IoOptions io)
      : directory_(directory), folder_(std::move(folder)), io_(io) {}

  Result<Manifest> ReadManifest(CheckpointId) override {
    const Result<std::string> text = directory_.ReadText(folder_.get(), "manifest.json", kManifestBytesMax);
    if (!text.ok()) return text.status();
    Result<Manifest> manifest = ParseManifest(*text);
    if (!manifest.ok()) return manifest;
    if (Status status = CheckShardsAreThere(folder_.get(), manifest->shards); !status.ok()) return status;
    return manifest;
  }

  Result<IoReport> Read(CheckpointId, const Manifest& manifest, std::span<const ReadRange> ranges,
                        const std::function<Status(std::size_t)>& done) override {
    if (reader_ == nullptr) {
      // The folder by its descriptor: wherever its name leads meanwhile, this is the one that was opened.
      Result<std::unique_ptr<BatchReader>> made =
          MakeBatchReader(io_, "/proc/self/fd/" + std::to_string(folder_.get()));
      if (!made.ok()) return made.status();
      reader_ = std::move(*made);
      for (const Shard& shard : manifest.shards) files_.push_back(shard.file);
    }
    return reader_->Read(folder_.get(), files_, ranges, done);
  }

 private:
  const Directory& directory_;
  const UniqueFd folder_;
  const IoOptions io_;
  std::unique_ptr<BatchReader> reader_;  // made for the first read: many only look at the manifest
  std::vector<std::string> files_;
};

}  // namespace

Result<std::unique_ptr<ShardSource>> OpenDiskSource(const Directory& directory, CheckpointId id, const IoOptions& io) {
  const Result<int> folder = directory.OpenForReading(id);
  if (!folder.ok()) return folder.status();
  return std::unique_ptr<ShardSource>(std::make_unique<DiskSource>(directory, UniqueFd(*folder), io));
}

}  // namespace glim::checkpoint
