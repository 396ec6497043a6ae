// The second step of a save: what the background thread does with an image.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"
#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/io/file_writer.h"
#include "sdk/checkpoint/io/target_limit.h"
#include "sdk/checkpoint/save/copy_progress.h"
#include "sdk/checkpoint/save/save_handle.h"
#include "sdk/checkpoint/save/saver_options.h"

namespace glim::checkpoint {

// An image that waits to be made durable.
struct SaveRequest {
  std::span<const std::byte> image;  // the shard's bytes, readable up to the next multiple of 4 KiB
  std::shared_ptr<const ShardLayout> layout;
  std::shared_ptr<CopyProgress> progress;  // how much of the image is there
  std::map<std::string, std::string> metadata;
  std::chrono::steady_clock::time_point asked;
  SaveReport report;  // what is known so far: step and bytes
};

// One thread at a time.
class Publisher {
 public:
  // `options` have been checked.
  Publisher(const SaverOptions& options, std::unique_ptr<Directory> directory, std::unique_ptr<FileWriter> writer,
            std::function<std::int64_t()> now_ms);

  // The memory of all images, before the first Save and after it has changed; Forget before it goes.
  void Register(std::span<const std::byte> memory);
  void Forget();

  // Writes the shard and takes its checksums meanwhile; then publishes this rank's part, or, on rank 0, everybody's
  // manifest. Begins before the image is whole. When it has returned, nobody fills or reads the image any more. What
  // finds the disk full is tried again for as long as Directory::MakeRoom makes room, and, of several ranks, for 5 s
  // more: another one may be removing something. A failure before anything was published takes the shard away again.
  // `durable` is told when only the replica is left.
  Result<SaveReport> Save(SaveRequest request, const std::function<void(const SaveReport&)>& durable);

  // Removes what is not kept any more. Rank 0's work; elsewhere nothing.
  void Prune();

 private:
  Result<SaveReport> SaveToDisk(SaveRequest& request, bool& replica_started);
  // What is to be published of a shard that is on the disk. `text` is ready where it needs no other rank.
  struct Written {
    Part part;
    Result<std::string> text = std::string();
  };
  Result<Written> WriteShard(CheckpointId id, int folder, SaveRequest& request, bool& replica_started);
  // As soon as the checksums are there, which the copy's reader needs; the disk is being written meanwhile. Whether
  // there is a replica to wait for.
  bool StartReplica(CheckpointId id, std::span<const std::byte> image, const Part& part);
  // This rank's part, or, with one rank, the manifest.
  Result<std::string> TextOf(const Part& part) const;
  // Nothing where there is no limit, or none that works: turns are a courtesy.
  std::optional<WriterTurn> TakeTurn(int folder) const;
  Status PublishForAll(CheckpointId id, int folder, Written own);
  // `once` gives a Result or a Status; again, as long as a full disk is what failed it and room can be made.
  template <typename Once>
  auto WithRoom(CheckpointId id, Once once);
  bool MakeRoom(CheckpointId id);
  std::optional<CheckpointId> Oldest() const;
  void RemoveFailedBefore(std::uint64_t step);

  const SaverOptions options_;
  const std::unique_ptr<Directory> directory_;
  const std::unique_ptr<FileWriter> writer_;
  const std::function<std::int64_t()> now_ms_;
  std::vector<std::uint64_t> failed_;   // rank 0's: steps that never became a checkpoint
  std::optional<CheckpointId> oldest_;  // what there was when this save began, or room was made last
  std::uint64_t made_room_ = 0;         // how often this save had an older checkpoint removed
  Status pruned_;                       // the last time
};

}  // namespace glim::checkpoint
