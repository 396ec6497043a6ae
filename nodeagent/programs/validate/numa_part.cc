#include "nodeagent/programs/validate/numa_part.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "nodeagent/programs/validate/node_shape.h"
#include "nodeagent/programs/validate/stopwatch.h"
#include "sdk/hfreduce/node/numa.h"

namespace glim::validate {
namespace {

constexpr std::size_t kReadBytes = 64 << 20;
constexpr int kReads = 7;

// GB/s of the best of several reads by one thread; 0: there is no memory for it.
double ReadGbps(int cpu, int memory_node) {
  void* const start = ::mmap(nullptr, kReadBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return 0;
  double best = 0;
  std::thread([&] {
    PinTo(cpu);
    hfreduce::PreferNumaNode(start, kReadBytes, memory_node);
    std::memset(start, 1, kReadBytes);
    const auto* const words = static_cast<const std::uint64_t*>(start);
    for (int i = 0; i < kReads; ++i) {
      const Stopwatch watch;
      std::uint64_t sums[8] = {};
      for (std::size_t at = 0; at < kReadBytes / sizeof(std::uint64_t); at += 8) {
        for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += words[at + lane];
      }
      // The compiler may not leave the reading out.
      for (const std::uint64_t& sum : sums) asm volatile("" : : "r"(sum) : "memory");
      best = std::max(best, static_cast<double>(kReadBytes) / watch.Seconds() / 1e9);
    }
  }).join();
  ::munmap(start, kReadBytes);
  return best;
}

}  // namespace

Readings MeasureNuma(const Options&) {
  const std::vector<NumaNode> nodes = NumaNodesHere();
  std::vector<Reading> readings;
  for (const NumaNode& from : nodes) {
    if (from.cpus.empty()) continue;
    for (const NumaNode& memory : nodes) {
      const bool local = from.number == memory.number;
      readings.push_back({.part = "numa",
                          .what = local ? "local" : "remote",
                          .device = "node" + std::to_string(from.number) + " -> node" + std::to_string(memory.number),
                          .value = ReadGbps(from.cpus.front(), memory.number),
                          .wrong = {},
                          .note = {}});
    }
  }
  return readings;
}

}  // namespace glim::validate
