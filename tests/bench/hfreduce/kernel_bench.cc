// What the reduction kernels take, beside a loop that only moves the same bytes: reads every source and writes one
// destination past the caches, and adds nothing. The two alternate, because the machine's memory is shared.
//   hfreduce_kernel_bench [--mib N] [--sources N] [--threads N] [--rounds N] [--op NAME] [--dtype NAME]
// One JSON line for each type.
#include "sdk/hfreduce/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/hfreduce/kernel_bench.cc"
#include "hwy/foreach_target.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "sdk/hfreduce/kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace glim::hfreduce {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sources and destination are aligned to lines; bytes is a multiple of four registers.
void MovePerTarget(std::uint8_t* destination, const std::uint8_t* const* sources, std::size_t source_count,
                   std::size_t bytes) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t step = hn::Lanes(d) * sizeof(std::uint32_t);
  const auto written = hn::Set(d, 1u);
  for (std::size_t block = 0; block < bytes; block += 4 * step) {
    for (std::size_t s = 0; s < source_count; ++s) {
      for (std::size_t offset = block; offset < block + 4 * step; offset += step) {
        auto read = hn::Load(d, reinterpret_cast<const std::uint32_t*>(sources[s] + offset));
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
        asm volatile("" : : "x"(read.raw));  // the load must be made although nobody uses it
#else
        asm volatile("" : : "m"(read));
#endif
      }
    }
    for (std::size_t offset = block; offset < block + 4 * step; offset += step) {
      hn::Stream(written, d, reinterpret_cast<std::uint32_t*>(destination + offset));
    }
  }
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace glim::hfreduce
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace glim::hfreduce {

HWY_EXPORT(MovePerTarget);

namespace {

struct Options {
  std::size_t mib = 186;
  std::size_t sources = 8;
  std::size_t threads = 2;
  std::size_t rounds = 15;
  ReduceOp op = ReduceOp::kSum;
  std::optional<DType> type;  // none: all
};

[[noreturn]] void Usage() {
  std::fprintf(stderr,
               "usage: hfreduce_kernel_bench [--mib N] [--sources 1..%zu] [--threads N] [--rounds N] [--op NAME] "
               "[--dtype NAME]\n",
               kSourcesMax);
  std::exit(2);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) Usage();
    const char* value = argv[i + 1];
    const std::size_t number = std::strtoul(value, nullptr, 10);
    if (name == "--op" && ReduceOpNamed(value)) {
      options.op = *ReduceOpNamed(value);
    } else if (name == "--dtype" && ReducibleDTypeNamed(value)) {
      options.type = ReducibleDTypeNamed(value);
    } else if (number == 0) {
      Usage();
    } else if (name == "--mib") {
      options.mib = number;
    } else if (name == "--sources" && number <= kSourcesMax) {
      options.sources = number;
    } else if (name == "--threads") {
      options.threads = number;
    } else if (name == "--rounds") {
      options.rounds = number;
    } else {
      Usage();
    }
  }
  return options;
}

// Written once, so that no page is touched for the first time while the clock runs.
std::uint8_t* Allocate(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("hfreduce_kernel_bench: mmap");
    std::exit(1);
  }
  std::memset(memory, 0, bytes);
  return static_cast<std::uint8_t*>(memory);
}

// Bit patterns of ordinary numbers around one, whatever the type.
void Fill(std::uint8_t* memory, std::size_t bytes, DType type, std::uint32_t seed) {
  const std::size_t size = SizeOf(type);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    state = state * 1664525u + 1013904223u;
    memory[i] = static_cast<std::uint8_t>(state >> 24);
    if (i % size != size - 1 || type == DType::kI32 || type == DType::kI64) continue;
    const std::uint8_t top = size == 1 ? (memory[i] & 0x07) | 0x30 : 0x3C + (memory[i] & 0x03);
    memory[i] = (memory[i] & 0x80) | top;
  }
}

struct Taken {
  double wall_s = 0;
  double cpu_s = 0;  // of all threads: tells more where others use the processors too
};

double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Taken Time(std::size_t threads, std::size_t bytes, const std::function<void(std::size_t, std::size_t)>& part) {
  const std::size_t share = bytes / threads / 4096 * 4096;
  std::vector<double> cpu_s(threads);
  const auto run = [&](std::size_t thread) {
    const double before = ThreadCpuSeconds();
    part(thread * share, thread + 1 == threads ? bytes : (thread + 1) * share);
    cpu_s[thread] = ThreadCpuSeconds() - before;
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (std::size_t thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  Taken taken;
  taken.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const double one : cpu_s) taken.cpu_s += one;
  return taken;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double Least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

struct Buffers {
  std::vector<std::uint8_t*> sources;
  std::uint8_t* destination = nullptr;
  std::size_t bytes = 0;
};

void Measure(const Options& options, DType type, const Buffers& buffers) {
  for (std::size_t s = 0; s < buffers.sources.size(); ++s) {
    Fill(buffers.sources[s], buffers.bytes, type, static_cast<std::uint32_t>(s));
  }
  ReduceArgs args{.type = type, .op = options.op, .divisor = 1, .stream = true};
  if (options.op == ReduceOp::kAverage) args.divisor = buffers.sources.size();
  const auto reduce = [&args, &buffers, type](std::size_t begin, std::size_t end) {
    std::vector<const void*> sources;
    for (const std::uint8_t* source : buffers.sources) sources.push_back(source + begin);
    Reduce(args, buffers.destination + begin, sources, (end - begin) / SizeOf(type));
  };
  const auto move = [&buffers](std::size_t begin, std::size_t end) {
    std::vector<const std::uint8_t*> sources;
    for (const std::uint8_t* source : buffers.sources) sources.push_back(source + begin);
    HWY_DYNAMIC_DISPATCH(MovePerTarget)(buffers.destination + begin, sources.data(), sources.size(), end - begin);
  };
  std::vector<double> reduce_s, move_s, reduce_cpu_s, move_cpu_s;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    const Taken moved = Time(options.threads, buffers.bytes, move);
    const Taken reduced = Time(options.threads, buffers.bytes, reduce);
    move_s.push_back(moved.wall_s);
    move_cpu_s.push_back(moved.cpu_s);
    reduce_s.push_back(reduced.wall_s);
    reduce_cpu_s.push_back(reduced.cpu_s);
  }
  std::printf(
      "{\"dtype\": \"%s\", \"op\": \"%s\", \"sources\": %zu, \"bytes\": %zu, \"threads\": %zu, \"rounds\": %zu, "
      "\"simd\": \"%s\", \"median_ms\": %.2f, \"best_ms\": %.2f, \"cpu_ms\": %.2f, \"move_median_ms\": %.2f, "
      "\"move_best_ms\": %.2f, \"move_cpu_ms\": %.2f, \"ratio\": %.3f, \"cpu_ratio\": %.3f}\n",
      std::string(NameOf(type)).c_str(), std::string(NameOf(options.op)).c_str(), buffers.sources.size(), buffers.bytes,
      options.threads, options.rounds, SimdTarget(), Median(reduce_s) * 1e3, Least(reduce_s) * 1e3,
      Median(reduce_cpu_s) * 1e3, Median(move_s) * 1e3, Least(move_s) * 1e3, Median(move_cpu_s) * 1e3,
      Median(reduce_s) / Median(move_s), Median(reduce_cpu_s) / Median(move_cpu_s));
  std::fflush(stdout);
}

int Run(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  Buffers buffers;
  buffers.bytes = options.mib << 20;
  for (std::size_t s = 0; s < options.sources; ++s) buffers.sources.push_back(Allocate(buffers.bytes));
  buffers.destination = Allocate(buffers.bytes);
  for (int type = 0; type < kReducibleDTypes; ++type) {
    if (!options.type || *options.type == static_cast<DType>(type)) {
      Measure(options, static_cast<DType>(type), buffers);
    }
  }
  return 0;
}

}  // namespace
}  // namespace glim::hfreduce

int main(int argc, char** argv) { return glim::hfreduce::Run(argc, argv); }
#endif
