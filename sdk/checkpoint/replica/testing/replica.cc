#include "sdk/checkpoint/replica/testing/replica.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "sdk/base/check.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"
#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/format/layout.h"
#include "sdk/checkpoint/format/manifest_json.h"
#include "sdk/io/write_file.h"
#include "sdk/net/rdma.h"
#include "sdk/tokens/replica_token.h"

namespace glim::checkpoint::testing {
namespace {

constexpr char kCluster[] = "the-tests-own";

Ed25519Seed TestSeed(int byte) {
  Ed25519Seed seed;
  seed.fill(static_cast<std::byte>(byte));
  return seed;
}

std::byte ByteAt(CheckpointId id, std::uint64_t at) {
  return static_cast<std::byte>(id.step * 31 + id.attempt * 7 + at + (at >> 8) * 13 + (at >> 16) * 3);
}

// glim-replica says on standard error where it listens; a program that fails closes it.
std::string ReadAddress(int descriptor) {
  constexpr std::string_view kBefore = "who comes to ";
  std::string text;
  std::array<char, 256> some;
  for (;;) {
    const std::size_t at = text.find(kBefore);
    const std::size_t end = text.find(';', at == std::string::npos ? text.size() : at);
    if (end != std::string::npos) return text.substr(at + kBefore.size(), end - at - kBefore.size());
    pollfd waiting{descriptor, POLLIN, 0};
    GLIM_CHECK(::poll(&waiting, 1, LongWaitMs()) > 0, "glim-replica does not start: " + text);
    const ssize_t n = ::read(descriptor, some.data(), some.size());
    GLIM_CHECK(n > 0, "glim-replica does not start: " + text);
    text.append(some.data(), static_cast<std::size_t>(n));
  }
}

}  // namespace

Share MakeShare(CheckpointId id, std::uint32_t rank, std::uint32_t world, std::uint64_t rows) {
  const std::uint64_t first = rows * rank;
  std::vector<std::byte> data(rows);
  for (std::uint64_t i = 0; i < rows; ++i) data[i] = ByteAt(id, first + i);
  const SaveTensor tensor{{"w", DType::kU8, {rows * world}}, Placement::kRows, {first, rows}, data, false};
  const ShardLayout layout = LayOut({&tensor, 1}, rank, world, 64 * kChunkBytes).value();
  Share share{id, std::vector<std::byte>(layout.file_bytes), ""};
  std::memcpy(share.image.data(), layout.header.data(), layout.header.size());
  for (const CopyRange& copy : layout.copies) {
    std::memcpy(share.image.data() + copy.to, data.data() + copy.from, copy.bytes);
  }
  Part part;
  part.rank = rank;
  part.manifest.attempt = id.attempt;
  part.manifest.step = id.step;
  part.manifest.world_size = world;
  part.manifest.created_at_ms = 1;
  char name[64];
  std::snprintf(name, sizeof name, "shard-%05u-of-%05u.safetensors", rank, world);
  part.manifest.shards = {{name, layout.file_bytes, Crc32c(std::as_bytes(std::span(layout.header)))}};
  part.manifest.tensors = layout.entries;
  for (TensorEntry& entry : part.manifest.tensors) {
    for (Piece& piece : entry.pieces) {
      piece.crc32c.clear();
      for (std::uint64_t at = 0; at < piece.bytes; at += kChunkBytes) {
        piece.crc32c.push_back(
            Crc32c(std::span(share.image).subspan(piece.offset + at, std::min(kChunkBytes, piece.bytes - at))));
      }
    }
  }
  share.part_json = ToJson(part);
  return share;
}

std::vector<std::byte> WholeTensor(CheckpointId id, std::uint32_t world, std::uint64_t rows) {
  std::vector<std::byte> data(rows * world);
  for (std::uint64_t i = 0; i < data.size(); ++i) data[i] = ByteAt(id, i);
  return data;
}

std::vector<const char*> Wires() {
  std::vector<const char*> wires{"tcp"};
  if (!net::UsablePorts(net::RdmaPorts()).empty()) wires.push_back("rc");
  return wires;
}

std::string TokenFor(std::uint32_t attempt, std::uint64_t job, const std::string& user) {
  ReplicaClaims claims;
  claims.cluster = kCluster;
  claims.job = job;
  claims.attempt = attempt;
  claims.user = user;
  return MakeReplicaToken(TestSeed(1), claims);
}

ReplicaIssuers Issuers(bool private_fabric) { return {kCluster, {PublicKeyOf(TestSeed(1))}, private_fabric}; }

ReplicaOptions OptionsFor(const std::string& tls, std::uint32_t attempt, std::uint32_t rank, std::uint32_t world) {
  ReplicaOptions options;
  options.token = TokenFor(attempt == 0 ? kLateAttempt : attempt);
  options.attempt = attempt;
  options.rank = rank;
  options.world = world;
  options.ucx_tls = tls;
  options.block_bytes = 256 << 10;
  return options;
}

std::string ReplicaProgram() { return BuiltFile("bin/glim-replica"); }

Result<ReplicaReport> Send(ReplicaSink& sink, const Share& share) {
  sink.Start(share.id, share.image, share.part_json);
  return sink.Wait();
}

ThreadService::ThreadService(ReplicaServiceOptions options) {
  if (!options.issuers) options.issuers = [] { return Issuers(); };
  if (options.program.empty()) options.program = BuiltFile("bin/glim-replica");
  auto service = ReplicaService::Create(options, {});
  GLIM_CHECK(service.ok(), service.status().message());
  service_ = std::move(service).value();
  thread_ = std::thread([this] { service_->Run(); });
}

ThreadService::~ThreadService() {
  service_->Stop();
  thread_.join();
}

ProcessService::ProcessService(const std::string& tls, const std::string& memory, const std::string& listen) {
  char folder[] = "/tmp/glim-replica-XXXXXX";
  GLIM_CHECK(::mkdtemp(folder) != nullptr, "a folder");
  const std::string keys = std::string(folder) + "/keys", key = std::string(folder) + "/key";
  GLIM_CHECK(WriteFileAtomically(keys, TextOf(Issuers()), Durability::kProcess).ok() &&
                 WriteFileAtomically(key, KeyText(TestSeed(2)), Durability::kProcess).ok(),
             "the keys");
  folder_ = folder;
  int errors[2];
  GLIM_CHECK(::pipe2(errors, O_CLOEXEC) == 0, "pipe");
  const std::string program = BuiltFile("bin/glim-replica");
  const std::string where = listen.substr(listen.find('@') + 1);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(errors[1], STDERR_FILENO);
    ::execl(program.c_str(), program.c_str(), "serve", "--keys", keys.c_str(), "--key-file", key.c_str(), "--memory",
            memory.c_str(), "--listen", where.c_str(), "--ucx-tls", tls.c_str(), nullptr);
    std::_Exit(127);
  }
  ::close(errors[1]);
  errors_ = UniqueFd(errors[0]);
  address_ = ReadAddress(errors[0]);
}

ProcessService::~ProcessService() {
  End(SIGKILL);
  std::filesystem::remove_all(folder_);
}

int ProcessService::End(int signal) {
  if (pid_ < 0) return 0;
  ::kill(pid_, signal);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

}  // namespace glim::checkpoint::testing
