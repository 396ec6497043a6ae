// AllReduce among the processes of one node, beside what the machine's memory can do in the same minute: the ways in
// which buffers may lie alternate with a triad of two threads, because the memory is shared with others.
//   hfreduce_node_bench [--bytes N] [--local L] [--rounds N] [--chunk N] [--ring N]
// One JSON line for each way. The bound counts what must be read and written, B the triad's bandwidth: B/(3L+1) copied
// out (all inputs read, the result written, and read and written by everybody), B/(L+1) with one result for all.
// of_bound_by_cpu is the same ratio with the processor time of all processes, on two processors, in place of the time
// that passed, for the triad too: it tells what is ours where others use the machine.
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "sdk/hfreduce/kernels/reduce.h"
#include "sdk/hfreduce/node/node_reduce.h"

namespace glim::hfreduce {
namespace {

struct Options {
  std::size_t bytes = std::size_t{186} << 20;
  std::uint32_t local = 4;
  int rounds = 7;
  std::size_t chunk = NodeReduceOptions().chunk_bytes_max;
  std::size_t ring = SegmentOptions().stage_bytes;
};

enum class Way { kCopiedOut, kOneResult, kInPlace, kStaged };
constexpr const char* kWayNames[] = {"copied_out", "one_result", "in_place", "staged"};
constexpr int kWays = 4;

struct Times {
  std::int64_t begin_ns;
  std::int64_t end_ns;
  std::int64_t cpu_ns;
};

std::int64_t NowNs(clockid_t clock = CLOCK_MONOTONIC) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void Require(const Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "node_bench: %s: %s\n", what, status.message().c_str());
  std::exit(1);
}

// a[i] = b[i] + c[i], three times the bytes moved; stored past the caches.
class Triad {
 public:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  static constexpr int kThreads = 2;

  Triad() : arrays_(3 * kThreads, std::vector<float>(kBytes / sizeof(float), 1)) {}

  struct Bandwidth {
    double gbps;
    double by_cpu;
  };

  Bandwidth Measure() {
    const std::int64_t begin = NowNs();
    const std::int64_t cpu_begin = NowNs(CLOCK_PROCESS_CPUTIME_ID);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([this, t] {
        const void* sources[] = {arrays_[3 * t + 1].data(), arrays_[3 * t + 2].data()};
        Reduce({.stream = true}, arrays_[3 * t].data(), sources, kBytes / sizeof(float));
      });
    }
    for (std::thread& thread : threads) thread.join();
    const double bytes = 3.0 * kThreads * kBytes;
    const auto cpu_ns = static_cast<double>(NowNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin);
    return {bytes / static_cast<double>(NowNs() - begin), bytes / (cpu_ns / kThreads)};
  }

 private:
  std::vector<std::vector<float>> arrays_;
};

// One process.
class Rank {
 public:
  Rank(const Options& options, std::uint32_t rank, Times* times) : options_(options), rank_(rank), times_(times) {
    SegmentOptions segment;
    segment.name = SegmentName("bench-" + std::to_string(::getppid()), 0);
    segment.ranks = options.local;
    segment.local_rank = rank;
    segment.stage_bytes = options.ring;
    segment.result_bytes = options.ring;
    auto opened = Segment::Open(segment);
    Require(opened.status(), "segment");
    segment_ = std::move(opened.value());
    auto node = NodeReduce::Create(*segment_, {.chunk_bytes_max = options.chunk});
    Require(node.status(), "node");
    node_ = std::move(node.value());
    for (auto& shared : shared_) {
      auto allocated = segment_->Allocate(options.bytes);
      Require(allocated.status(), "buffer");
      shared = *allocated;
      std::memset(shared.data(), 0, shared.size());
    }
    for (auto& own : own_) own.resize(options.bytes);
  }

  void Once(Way way) {
    std::span<std::byte> in = way == Way::kStaged ? std::span<std::byte>(own_[0]) : shared_[0];
    std::span<std::byte> out = own_[1];
    if (way == Way::kInPlace) out = shared_[0];
    if (way == Way::kOneResult) out = shared_[1];
    Require(node_->Barrier(), "barrier");
    times_[rank_].begin_ns = NowNs();
    const std::int64_t cpu_begin = NowNs(CLOCK_PROCESS_CPUTIME_ID);
    Require(node_->AllReduce(in, out, DType::kF32, ReduceOp::kSum, way == Way::kOneResult), kWayNames[int(way)]);
    times_[rank_].end_ns = NowNs();
    times_[rank_].cpu_ns = NowNs(CLOCK_PROCESS_CPUTIME_ID) - cpu_begin;
    Require(node_->Barrier(), "barrier");
  }

  // From the first that began until the last that ended.
  double MeasuredNs() const {
    std::int64_t begin = times_[0].begin_ns;
    std::int64_t end = times_[0].end_ns;
    for (std::uint32_t rank = 1; rank < options_.local; ++rank) {
      begin = std::min(begin, times_[rank].begin_ns);
      end = std::max(end, times_[rank].end_ns);
    }
    return static_cast<double>(end - begin);
  }

  double CpuNs() const {
    std::int64_t sum = 0;
    for (std::uint32_t rank = 0; rank < options_.local; ++rank) sum += times_[rank].cpu_ns;
    return static_cast<double>(sum);
  }

  struct Samples {
    std::vector<double> ns[kWays];
    std::vector<double> cpu_ns[kWays];
    std::vector<double> triad_gbps;
    std::vector<double> triad_by_cpu;
  };

  void Run() {
    Samples samples;
    std::unique_ptr<Triad> triad;
    if (rank_ == 0) triad = std::make_unique<Triad>();
    for (int round = -1; round < options_.rounds; ++round) {  // the first one warms up
      for (int way = 0; way < kWays; ++way) {
        Once(static_cast<Way>(way));
        if (rank_ == 0 && round >= 0) {
          samples.ns[way].push_back(MeasuredNs());
          samples.cpu_ns[way].push_back(CpuNs());
          const Triad::Bandwidth bandwidth = triad->Measure();
          samples.triad_gbps.push_back(bandwidth.gbps);
          samples.triad_by_cpu.push_back(bandwidth.by_cpu);
        }
        Require(node_->Barrier(), "barrier");  // the others sleep while the triad runs
      }
    }
    if (rank_ == 0) Print(samples);
  }

 private:
  static double Median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  void Print(const Samples& samples) const {
    const double bandwidth = Median(samples.triad_gbps);
    const double local = options_.local;
    const auto bytes = static_cast<double>(options_.bytes);
    for (int way = 0; way < kWays; ++way) {
      const std::vector<double>& ns = samples.ns[way];
      const double median = Median(ns);
      const double passes = static_cast<Way>(way) == Way::kOneResult ? local + 1 : 3 * local + 1;
      const double algbw = bytes / median;
      const double cpu_ns = Median(samples.cpu_ns[way]);
      const double by_cpu = bytes / (cpu_ns / Triad::kThreads) / (Median(samples.triad_by_cpu) / passes);
      const nlohmann::ordered_json line = {{"bench", "node"},
                                           {"way", kWayNames[way]},
                                           {"bytes", options_.bytes},
                                           {"local", options_.local},
                                           {"rounds", options_.rounds},
                                           {"median_us", median / 1e3},
                                           {"best_us", *std::min_element(ns.begin(), ns.end()) / 1e3},
                                           {"cpu_us", cpu_ns / 1e3},
                                           {"algbw_GBps", algbw},
                                           {"triad_GBps", bandwidth},
                                           {"bound_GBps", bandwidth / passes},
                                           {"of_bound", algbw * passes / bandwidth},
                                           {"of_bound_by_cpu", by_cpu},
                                           {"simd", SimdTarget()}};
      std::printf("%s\n", line.dump().c_str());
    }
    std::fflush(stdout);
  }

  Options options_;
  std::uint32_t rank_;
  Times* times_;
  std::unique_ptr<Segment> segment_;
  std::unique_ptr<NodeReduce> node_;
  std::span<std::byte> shared_[2];
  std::vector<std::byte> own_[2];
};

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    const std::size_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--bytes") options.bytes = value / sizeof(float) * sizeof(float);
    if (name == "--local") options.local = static_cast<std::uint32_t>(value);
    if (name == "--rounds") options.rounds = static_cast<int>(value);
    if (name == "--chunk") options.chunk = value;
    if (name == "--ring") options.ring = value;
  }
  if (options.local < 1 || options.local > kLocalRanksMax || options.rounds < 1) {
    std::fprintf(stderr, "node_bench: --local is 1 to %u, --rounds at least 1\n", kLocalRanksMax);
    return 2;
  }
  void* times =
      ::mmap(nullptr, sizeof(Times) * kLocalRanksMax, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (times == MAP_FAILED) return 1;
  for (std::uint32_t rank = 0; rank < options.local; ++rank) {
    if (::fork() != 0) continue;
    Rank(options, rank, static_cast<Times*>(times)).Run();
    ::_exit(0);
  }
  int result = 0;
  int status = 0;
  while (::wait(&status) > 0) {
    if (status != 0) result = 1;
  }
  return result;
}

}  // namespace
}  // namespace glim::hfreduce

int main(int argc, char** argv) { return glim::hfreduce::Main(argc, argv); }
