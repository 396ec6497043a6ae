#include "sdk/checkpoint/directory/shards_there.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

namespace glim::checkpoint {

Status CheckShardsAreThere(int folder, const std::vector<Shard>& shards) {
  for (const Shard& shard : shards) {
    struct stat found {};
    if (::fstatat(folder, shard.file.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(found.st_mode) &&
        static_cast<std::uint64_t>(found.st_size) == shard.bytes) {
      continue;
    }
    return Status(StatusCode::kDataLoss,
                  shard.file + " is not there with its " + std::to_string(shard.bytes) + " bytes")
        .WithReason("BAD_SHARD")
        .WithField(shard.file);
  }
  return Status::Ok();
}

}  // namespace glim::checkpoint
