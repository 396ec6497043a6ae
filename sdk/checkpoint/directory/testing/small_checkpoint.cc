#include "sdk/checkpoint/directory/testing/small_checkpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/checkpoint/format/shard_header.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim::checkpoint {
namespace {

constexpr std::uint64_t kElements = 300;
constexpr char kShardName[] = "shard-00000-of-00001.safetensors";
constexpr char kTensorName[] = "weight";

std::uint32_t ChecksumOf(const std::string& text) { return Crc32c(std::as_bytes(std::span(text))); }

std::string DataOf(CheckpointId id) {
  std::string data;
  for (std::uint64_t i = 0; i < kElements; ++i) data += static_cast<char>(id.attempt * 89 + id.step * 7 + i);
  return data;
}

std::string HeaderText() {
  const auto header = BuildShardHeader({{kTensorName, DType::kU8, {kElements}, 0, kElements}});
  GLIM_CHECK(header.ok(), header.status().message());
  return *header;
}

Manifest ManifestOf(CheckpointId id, std::int64_t created_at_ms) {
  const std::string header = HeaderText();
  Manifest manifest;
  manifest.attempt = id.attempt;
  manifest.step = id.step;
  manifest.created_at_ms = created_at_ms;
  manifest.shards = {{kShardName, header.size() + kElements, ChecksumOf(header)}};
  const Piece piece{0, header.size(), kElements, 0, {ChecksumOf(DataOf(id))}};
  manifest.tensors = {{{kTensorName, DType::kU8, {kElements}}, {piece}}};
  return manifest;
}

Status WriteShard(int folder, const std::string& text) {
  const UniqueFd fd(::openat(folder, kShardName, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd) return IoError(errno, std::string("create ") + kShardName);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(fd.get(), text.data() + done, text.size() - done);
    if (written <= 0) return IoError(errno, std::string("write ") + kShardName);
    done += static_cast<std::size_t>(written);
  }
  if (::fsync(fd.get()) != 0) return IoError(errno, std::string("flush ") + kShardName);
  return Status::Ok();
}

}  // namespace

Status SaveSmall(Directory& directory, CheckpointId id, std::int64_t created_at_ms) {
  const auto opened = directory.OpenForWriting(id);
  if (!opened.ok()) return opened.status();
  const UniqueFd folder(*opened);
  if (Status status = WriteShard(folder.get(), HeaderText() + DataOf(id)); !status.ok()) return status;
  const std::string json = ToJson(ManifestOf(id, created_at_ms));
  if (Status status = directory.Publish(folder.get(), "part-00000.json", json); !status.ok()) return status;
  return directory.PublishManifest(id, folder.get(), json);
}

std::string FaultOf(const Directory& directory, CheckpointId id) {
  const auto opened = directory.OpenForReading(id);
  if (!opened.ok()) return opened.status().message();
  const UniqueFd folder(*opened);
  const auto json = directory.ReadText(folder.get(), kManifestName, kManifestBytesMax);
  if (!json.ok()) return json.status().message();
  const auto manifest = ParseManifest(*json);
  if (!manifest.ok()) return manifest.status().message();
  if (*manifest != ManifestOf(id, manifest->created_at_ms)) return "the manifest is another";
  const auto shard = directory.ReadText(folder.get(), kShardName, 1 << 20);
  if (!shard.ok()) return shard.status().message();
  return *shard == HeaderText() + DataOf(id) ? "" : "the shard has other bytes";
}

TestFolder::TestFolder() {
  const bool memory = ::access("/dev/shm", W_OK | X_OK) == 0;
  path_ = (memory ? std::string("/dev/shm") : std::filesystem::temp_directory_path().string()) + "/glim-ckpt-XXXXXX";
  GLIM_CHECK(::mkdtemp(path_.data()) != nullptr, std::strerror(errno));
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace glim::checkpoint
