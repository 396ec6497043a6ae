#include "sdk/checkpoint/save/testing/ranks.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "sdk/base/testing/waits.h"
#include "sdk/checkpoint/format/manifest.h"
#include "sdk/checkpoint/load/rows.h"

namespace glim::checkpoint::testing {
namespace {

constexpr std::chrono::seconds kHang{120};

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

[[noreturn]] void RunChild(int pipe, const std::function<std::string()>& body) {
  ::alarm(static_cast<unsigned>(Slower(kHang).count()));
  const std::string said = body();
  const bool written = ::write(pipe, said.data(), said.size()) == static_cast<ssize_t>(said.size());
  ::_exit(written ? 0 : 1);
}

}  // namespace

std::vector<std::byte> NoiseOf(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> noise(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::size_t at = 0; at < bytes; at += sizeof state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(noise.data() + at, &state, std::min(sizeof state, bytes - at));
  }
  return noise;
}

SaveTensor DataJob::Whole(const TensorInfo& info, Placement placement) {
  infos[info.name] = info;
  auto& bytes = whole[info.name];
  bytes = NoiseOf(info.bytes().value(), std::hash<std::string>()(info.name));
  return {.info = info, .placement = placement, .rows = {}, .data = bytes};
}

void DataJob::AddReplicated(const TensorInfo& info) {
  const SaveTensor tensor = Whole(info, Placement::kReplicated);
  for (auto& held : ranks) held.push_back(tensor);
}

void DataJob::AddOwn(const TensorInfo& info, std::uint32_t rank) {
  ranks[rank].push_back(Whole(info, Placement::kOwn));
}

void DataJob::AddRows(const TensorInfo& info) {
  const SaveTensor tensor = Whole(info, Placement::kRows);
  const std::uint64_t rows = info.shape.at(0);
  const std::uint64_t row_bytes = rows == 0 ? 0 : tensor.data.size() / rows;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    SaveTensor held = tensor;
    held.rows = EvenRows(rows, rank, static_cast<std::uint32_t>(ranks.size()));
    held.data = tensor.data.subspan(held.rows.first * row_bytes, held.rows.count * row_bytes);
    ranks[rank].push_back(held);
  }
}

void DataJob::AddRandom(Rng& rng, std::uint32_t count) {
  const auto upto = [&](std::int64_t max) { return static_cast<std::uint64_t>(rng.Between(0, max)); };
  for (std::uint32_t i = 0; i < count; ++i) {
    TensorInfo info{.name = "tensor." + std::to_string(i), .dtype = static_cast<DType>(i % kDTypes), .shape = {}};
    for (std::uint64_t dimensions = upto(3); dimensions > 0; --dimensions) {
      info.shape.push_back(rng.OneIn(15) ? 0 : 1 + upto(30));
    }
    if (rng.OneIn(12)) info.shape = {((5 << 20) + upto(5 << 20)) / SizeOf(info.dtype)};  // two or three chunks
    if (rng.OneIn(3)) {
      AddReplicated(info);
    } else if (info.shape.empty() || rng.OneIn(2)) {
      AddOwn(info, static_cast<std::uint32_t>(upto(static_cast<std::int64_t>(ranks.size()) - 1)));
    } else {
      AddRows(info);
    }
  }
}

SaverOptions OptionsOf(const std::string& path, std::uint32_t rank, std::uint32_t world) {
  SaverOptions options;
  options.path = path;
  options.job = "test";
  options.rank = rank;
  options.world = world;
  options.split_bytes = kChunkBytes;
  return options;
}

std::int64_t StandingClock() { return 1'700'000'000'000; }

Result<SaveReport> SaveAndWait(Saver& saver, std::uint64_t step, std::span<const SaveTensor> tensors) {
  const Result<std::shared_ptr<SaveHandle>> handle =
      saver.SaveAsync(step, tensors, {{"step", std::to_string(step)}}, {});
  if (!handle.ok()) return handle.status();
  if (*handle == nullptr) return Status(StatusCode::kUnavailable, "skipped");
  return (*handle)->Wait();
}

std::vector<std::string> InProcesses(std::uint32_t world, const std::function<std::string(std::uint32_t rank)>& body) {
  struct Child {
    pid_t pid;
    int pipe;
  };
  std::vector<Child> children;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    int ends[2];
    if (::pipe(ends) != 0) return {"no pipe"};
    const pid_t pid = ::fork();
    if (pid == 0) RunChild(ends[1], [&] { return body(rank); });
    ::close(ends[1]);
    children.push_back({pid, ends[0]});
  }
  std::vector<std::string> said;
  for (const Child& child : children) {
    said.push_back(ReadToEnd(child.pipe));
    ::close(child.pipe);
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status)) said.back() += "signal " + std::to_string(WTERMSIG(status));
  }
  return said;
}

}  // namespace glim::checkpoint::testing
