#include "nodeagent/programs/validate/memory_part.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <mutex>
#include <thread>

#include "nodeagent/programs/validate/node_shape.h"
#include "nodeagent/programs/validate/pattern.h"
#include "nodeagent/programs/validate/stopwatch.h"
#include "sdk/hfreduce/node/numa.h"

namespace glim::validate {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::int64_t kQuickBytes = 256 * kMiB;
constexpr std::int64_t kLeastBytes = 16 * kMiB;
constexpr std::int64_t kCopyBytesMax = 64 * kMiB;  // of a thread: more than its share of the caches
constexpr std::size_t kThreadsMax = 16;            // of a NUMA node: as many as its memory can serve
constexpr int kQuickCopies = 7;
constexpr int kFullCopies = 25;

// Anonymous memory, gone with it; null: the kernel gives none.
class Region {
 public:
  Region(std::size_t bytes, int numa_node) : bytes_(bytes) {
    void* start = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) return;
    start_ = start;
    hfreduce::PreferNumaNode(start, bytes, numa_node);
  }
  ~Region() {
    if (start_ != nullptr) ::munmap(start_, bytes_);
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  std::uint64_t* words() const { return static_cast<std::uint64_t*>(start_); }

 private:
  void* start_ = nullptr;
  std::size_t bytes_;
};

std::vector<int> SomeOf(const std::vector<int>& cpus) {
  return {cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>(std::min(cpus.size(), kThreadsMax))};
}

// GB/s of the best of several copies that all threads of the node make at the same time.
double CopyGbps(const NumaNode& node, std::int64_t bytes_each, int copies) {
  const std::vector<int> cpus = SomeOf(node.cpus);
  std::barrier together(static_cast<std::ptrdiff_t>(cpus.size()));
  std::vector<std::vector<double>> seconds(cpus.size());
  std::atomic<bool> short_of_memory = false;
  const auto copy = [&](std::size_t thread) {
    PinTo(cpus[thread]);
    const Region from(static_cast<std::size_t>(bytes_each), node.number);
    const Region to(static_cast<std::size_t>(bytes_each), node.number);
    if (from.words() == nullptr || to.words() == nullptr) short_of_memory = true;
    together.arrive_and_wait();
    if (short_of_memory) return;
    std::memset(from.words(), 1, static_cast<std::size_t>(bytes_each));
    std::memset(to.words(), 2, static_cast<std::size_t>(bytes_each));
    for (int i = 0; i < copies; ++i) {
      together.arrive_and_wait();
      const Stopwatch watch;
      std::memcpy(to.words(), from.words(), static_cast<std::size_t>(bytes_each));
      seconds[thread].push_back(watch.Seconds());
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i) threads.emplace_back(copy, i);
  for (std::thread& thread : threads) thread.join();
  double best = 0;
  for (int i = 0; i < copies && !short_of_memory; ++i) {
    double slowest = 0;
    for (const auto& of_thread : seconds) slowest = std::max(slowest, of_thread[static_cast<std::size_t>(i)]);
    // Each byte is read and written.
    best = std::max(best, 2.0 * static_cast<double>(bytes_each) * static_cast<double>(cpus.size()) / slowest / 1e9);
  }
  return best;
}

// Every thread fills its part of the region with each pattern, and reads all of it back.
Reading Patterns(const NumaNode& node, std::int64_t bytes) {
  Reading reading{
      .part = "memory", .what = "patterns", .device = "node" + std::to_string(node.number), .wrong = {}, .note = {}};
  const std::vector<int> cpus = SomeOf(node.cpus);
  const Region region(static_cast<std::size_t>(bytes), node.number);
  if (region.words() == nullptr) return reading;
  const std::size_t words = static_cast<std::size_t>(bytes) / sizeof(std::uint64_t);
  std::mutex mutex;
  const auto test = [&](std::size_t thread) {
    PinTo(cpus[thread]);
    const std::size_t begin = words * thread / cpus.size();
    const std::span<std::uint64_t> part(region.words() + begin, words * (thread + 1) / cpus.size() - begin);
    for (const Pattern pattern : kPatterns) {
      Fill(part, pattern, begin);
      const std::optional<std::string> wrong = FirstWrong(part, pattern, begin);
      if (!wrong) continue;
      const std::lock_guard lock(mutex);
      if (reading.wrong.empty()) reading.wrong = *wrong + ", seen by cpu" + std::to_string(cpus[thread]);
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < cpus.size(); ++i) threads.emplace_back(test, i);
  for (std::thread& thread : threads) thread.join();
  reading.value = static_cast<double>(bytes) / 1e6;
  return reading;
}

std::int64_t BytesFor(const Options& options) {
  const std::int64_t here = MemoryForUs();
  const std::int64_t wanted = options.memory_bytes > 0 ? options.memory_bytes : options.full ? here / 2 : kQuickBytes;
  return std::min(wanted, here / 2) / kMiB * kMiB;
}

}  // namespace

Readings MeasureMemory(const Options& options) {
  const std::int64_t bytes = BytesFor(options);
  if (bytes < kLeastBytes) {
    return Status(StatusCode::kResourceExhausted, "less than 32 MiB of memory are free, or left by the control group");
  }
  std::vector<NumaNode> nodes = NumaNodesHere();
  std::erase_if(nodes, [](const NumaNode& node) { return node.cpus.empty(); });
  std::vector<Reading> readings;
  for (const NumaNode& node : nodes) {
    const auto threads = static_cast<std::int64_t>(SomeOf(node.cpus).size());
    const std::int64_t each = std::clamp(bytes / 2 / threads, kMiB, kCopyBytesMax);
    Reading copy{
        .part = "memory", .what = "copy", .device = "node" + std::to_string(node.number), .wrong = {}, .note = {}};
    copy.value = CopyGbps(node, each, options.full ? kFullCopies : kQuickCopies);
    readings.push_back(std::move(copy));
    readings.push_back(Patterns(node, bytes / static_cast<std::int64_t>(nodes.size())));
  }
  return readings;
}

}  // namespace glim::validate
