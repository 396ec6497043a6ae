#include "sdk/checkpoint/io/channel.h"
#include "sdk/checkpoint/io/thread_channel.h"
#include "sdk/checkpoint/io/uring_channel.h"
#include "sdk/checkpoint/io/usrbio_channel.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kBlockBytesMax = std::uint64_t{1} << 30;
constexpr std::uint32_t kDepthMax = 1024;

Status Check(const IoOptions& options) {
  if (options.block_bytes == 0 || options.block_bytes > kBlockBytesMax || options.block_bytes % kPageBytes != 0) {
    return InvalidArgument("io.block_bytes", std::to_string(options.block_bytes) + " is no size of a request",
                           "use a multiple of 4096, at most 1 GiB");
  }
  if (options.depth == 0 || options.depth > kDepthMax) {
    return InvalidArgument("io.depth", std::to_string(options.depth) + " requests in flight", "use 1 to 1024");
  }
  return Status::Ok();
}

}  // namespace

std::string_view NameOf(IoKind kind) {
  switch (kind) {
    case IoKind::kAuto: return "auto";
    case IoKind::kUring: return "io_uring";
    case IoKind::kPwrite: return "pwrite";
    case IoKind::kUsrbio: return "usrbio";
  }
  return "";
}

Result<std::unique_ptr<Channel>> MakeChannel(const IoOptions& options, const std::string& folder,
                                             IoDirection direction) {
  if (const Status status = Check(options); !status.ok()) return status;
  switch (options.kind) {
    case IoKind::kUring: return MakeUringChannel(options, direction);
    case IoKind::kPwrite: return MakeThreadChannel(options, direction);
    case IoKind::kUsrbio: return MakeUsrbioChannel(options, folder, direction);
    case IoKind::kAuto: break;
  }
  if (MayBeUsrbio(folder)) {
    if (auto channel = MakeUsrbioChannel(options, folder, direction); channel.ok()) return channel;
  }
  if (auto channel = MakeUringChannel(options, direction); channel.ok()) return channel;
  return MakeThreadChannel(options, direction);
}

}  // namespace glim::checkpoint
