// Where a Saver may put a second copy of its shard beside the disk: a neighbour's memory (replica/replica.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/directory.h"

namespace glim::checkpoint {

struct ReplicaReport {
  std::string peer;         // host:port of the service that holds the copy
  std::uint64_t bytes = 0;  // shard and part
  std::int64_t micros = 0;  // from Start until the service had it whole
};

// How the Saver uses it (SaverOptions::replica): Register when an image's memory is made, Forget before it goes; for
// each save, Start when the checksums and the part's JSON are there, then the disk, then Wait before the image is used
// again. What Wait says goes into the SaveReport and never fails the save. One thread at a time.
class ReplicaSink {
 public:
  virtual ~ReplicaSink() = default;

  // One range at a time; a second Register replaces it. No save is under way.
  virtual void Register(std::span<const std::byte> memory) = 0;
  virtual void Forget() = 0;

  // Begins to send and returns. `image` stays readable and unchanged until Wait has returned.
  virtual void Start(CheckpointId id, std::span<const std::byte> image, std::string part_json) = 0;
  // When it has returned, nothing reads the image any more, whatever has failed.
  virtual Result<ReplicaReport> Wait() = 0;
};

}  // namespace glim::checkpoint
