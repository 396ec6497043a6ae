#include "tests/bench/checkpoint/bench_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

namespace glim::checkpoint::bench {
namespace {

constexpr std::uint64_t kHugePageBytes = std::uint64_t{2} << 20;

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Result<Memory> Memory::Create(std::uint64_t bytes) {
  bytes = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Status(StatusCode::kResourceExhausted, "no memory for the bench");
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 1, bytes);
  return Memory(static_cast<std::byte*>(memory), bytes);
}

void Memory::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

Result<Model> Model::Create(const Setup& setup) {
  Result<Memory> memory = Memory::Create(setup.bytes);
  if (!memory.ok()) return memory.status();
  Model model(std::move(*memory));
  std::uint64_t state = 88172645463325252U;
  const std::span<std::byte> bytes = model.bytes().first(setup.bytes);
  for (std::size_t at = 0; at + sizeof state <= bytes.size(); at += sizeof state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(bytes.data() + at, &state, sizeof state);
  }
  for (std::uint64_t at = 0; at < bytes.size(); at += setup.tensor_bytes) {
    const std::span<std::byte> data = bytes.subspan(at, std::min<std::uint64_t>(setup.tensor_bytes, bytes.size() - at));
    SaveTensor tensor;
    tensor.info = {"layers." + std::to_string(model.tensors_.size()) + ".weight", DType::kF32, {data.size() / 4}};
    tensor.data = data;
    model.tensors_.push_back(std::move(tensor));
  }
  return model;
}

BenchFolder::BenchFolder(const std::string& dir) : path_(dir + "/ckpt-bench-" + std::to_string(::getpid())) {}

BenchFolder::~BenchFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void BenchFolder::ForEachFile(const std::function<void(int fd)>& work) const {
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_, error)) {
    if (!entry.is_regular_file()) continue;
    const int fd = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    work(fd);
    ::close(fd);
  }
}

void BenchFolder::DropFromCache() const {
  ForEachFile([](int fd) {
    ::fdatasync(fd);
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  });
}

void BenchFolder::ReadIntoCache() const {
  std::vector<char> buffer(1 << 20);
  ForEachFile([&](int fd) {
    while (::read(fd, buffer.data(), buffer.size()) > 0) {
    }
  });
}

Result<std::unique_ptr<Saver>> MakeSaver(const Setup& setup, const BenchFolder& folder) {
  SaverOptions options;
  options.path = folder.path();
  options.job = "ckpt-bench";
  options.io = setup.io;
  options.keep.newest = setup.rounds + 2;
  options.copy_threads = setup.copy_threads;
  options.reserve_bytes = setup.bytes;
  return Saver::Create(options, NowMs);
}

Result<SaveReport> SaveAndWait(Saver& saver, std::uint64_t step, const Model& model) {
  saver.Drain();
  const Result<std::shared_ptr<SaveHandle>> handle = saver.SaveAsync(step, model.tensors(), {}, {});
  if (!handle.ok()) return handle.status();
  return (*handle)->Wait();
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

double MillisOf(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

double GBps(std::uint64_t bytes, double ms) { return static_cast<double>(bytes) / ms / 1e6; }

nlohmann::ordered_json LineOf(const std::string& bench, const Setup& setup, const IoReport& io) {
  return {{"bench", bench},
          {"bytes", setup.bytes},
          {"tensors", (setup.bytes + setup.tensor_bytes - 1) / setup.tensor_bytes},
          {"rounds", setup.rounds},
          {"io", std::string(NameOf(io.kind))},
          {"direct", io.direct},
          {"registered", io.registered},
          {"block_bytes", setup.io.block_bytes},
          {"depth", setup.io.depth}};
}

}  // namespace glim::checkpoint::bench
