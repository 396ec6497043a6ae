#include "nodeagent/programs/validate/gpu_multiply.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "nodeagent/programs/validate/gpu_answer.h"
#include "nodeagent/programs/validate/gpu_kernels.h"
#include "nodeagent/programs/validate/gpu_memory.h"
#include "nodeagent/programs/validate/stopwatch.h"

namespace glim::validate {
namespace {

constexpr std::uint64_t kSeedA = 1, kSeedB = 2;
constexpr std::uint32_t kRepeat = 16;  // so that the tensor cores, and not the memory, are what is slow
constexpr int kRoundsMin = 3;
constexpr int kTensorCapability = 8;

// A multiplication: its kernel, its first rows and what comes out.
struct Task {
  const char* what;
  const char* kernel;
  unsigned columns_of_a_block;
  std::uint32_t repeat;  // 0: the kernel has no such argument
  std::vector<std::byte> a, b;
  std::vector<std::uint32_t> product;
};

template <typename Number>
std::vector<std::byte> BytesOf(const std::vector<Number>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {bytes.begin(), bytes.end()};
}

std::vector<Task> TasksOf(std::uint32_t side) {
  const auto a = RowsF32(kSeedA, side), b = RowsF32(kSeedB, side);
  const auto whole_a = RowsBf16(kSeedA, side), whole_b = RowsBf16(kSeedB, side);
  return {{"multiply", "glim_multiply_f32", 64, 0, BytesOf(a), BytesOf(b), ProductF32(a, b)},
          {"tensor", "glim_multiply_bf16", 128, kRepeat, BytesOf(whole_a), BytesOf(whole_b),
           ProductBf16(whole_a, whole_b, kRepeat)}};
}

// All GPUs of a kind have the same; it takes a second.
std::shared_ptr<const std::vector<Task>> TasksFor(std::uint32_t side) {
  static std::mutex mutex;
  static std::map<std::uint32_t, std::shared_ptr<const std::vector<Task>>> known;
  const std::lock_guard lock(mutex);
  auto& tasks = known[side];
  if (!tasks) tasks = std::make_shared<const std::vector<Task>>(TasksOf(side));
  return tasks;
}

// The largest power of two whose three matrices take half of what is free.
Result<std::uint32_t> SideOf(const device::Gpu& gpu, std::uint32_t side_max) {
  const Result<std::size_t> free = gpu.FreeBytes();
  if (!free.ok()) return free.status();
  std::uint32_t side = side_max;
  while (side >= kPeriod && std::size_t{3} * side * side * sizeof(float) > *free / 2) side /= 2;
  if (side >= kPeriod) return side;
  return Status(StatusCode::kResourceExhausted, "less than 1 MiB of " + GpuName(gpu) + "'s memory is free")
      .WithReason(device::kGpuIsTaken);
}

Result<device::GpuMemory> Repeated(const device::Gpu& gpu, const std::vector<std::byte>& rows, std::uint32_t side) {
  Result<device::GpuMemory> memory = gpu.Allocate(rows.size() * (side / kPeriod));
  Status status = memory.ok() ? Status::Ok() : memory.status();
  for (std::uint32_t i = 0; i < side / kPeriod && status.ok(); ++i) {
    status = gpu.ToDevice(memory->address() + i * rows.size(), rows.data(), rows.size());
  }
  if (status.ok()) status = gpu.Finish();
  if (!status.ok()) return status;
  return memory;
}

std::string TextOfWrongProduct(const Mismatches& found, std::uint32_t side) {
  char text[160];
  std::snprintf(text, sizeof text,
                "a wrong product: %llu of %llu numbers; the first in row %llu, column %llu, bits 0x%08llx", found.count,
                static_cast<unsigned long long>(side) * side, found.first / side, found.first % side, found.bits);
  return text;
}

class Multiplication {
 public:
  Multiplication(const device::Gpu& gpu, const Task& task, std::uint32_t side) : gpu_(gpu), task_(task), side_(side) {}

  Result<Reading> Run(double seconds) {
    Result<device::GpuMemory> a = Repeated(gpu_, task_.a, side_);
    if (!a.ok()) return a.status();
    Result<device::GpuMemory> b = Repeated(gpu_, task_.b, side_);
    if (!b.ok()) return b.status();
    Result<device::GpuMemory> c = gpu_.Allocate(std::size_t{side_} * side_ * sizeof(float));
    if (!c.ok()) return c.status();
    const std::size_t reference_bytes = task_.product.size() * sizeof(std::uint32_t);
    Result<device::GpuMemory> reference = gpu_.Allocate(reference_bytes);
    if (!reference.ok()) return reference.status();
    Result<device::GpuMemory> result = gpu_.Allocate(sizeof(Mismatches));
    if (!result.ok()) return result.status();
    Status status = gpu_.ToDevice(reference->address(), task_.product.data(), reference_bytes);
    if (!status.ok()) return status;
    Reading reading{.part = "gpu", .what = task_.what, .device = GpuName(gpu_), .wrong = {}, .note = {}};
    const Stopwatch watch;
    double best = 0;
    for (int round = 0; round < kRoundsMin || watch.Seconds() < seconds; ++round) {
      // What the kernel leaves out has to show.
      status = AskWords(gpu_, c->address(), c->bytes() / sizeof(std::uint64_t), 0, 0, nullptr);
      if (!status.ok()) return status;
      const Result<double> took = gpu_.SecondsOf([&] { return Multiply(a->address(), b->address(), c->address()); });
      if (!took.ok()) return took.status();
      best = std::max(best, Operations() / *took);
      const Result<Mismatches> found = Compare(*c, *reference, *result);
      if (!found.ok()) return found.status();
      if (found->count > 0 && reading.wrong.empty()) reading.wrong = TextOfWrongProduct(*found, side_);
    }
    reading.value = best / 1e12;
    return reading;
  }

 private:
  double Operations() const { return 2.0 * side_ * side_ * side_ * std::max(task_.repeat, 1U); }

  Status Multiply(device::DeviceAddress a, device::DeviceAddress b, device::DeviceAddress c) const {
    const Result<device::DriverHandle> kernel = gpu_.Kernel(task_.kernel);
    if (!kernel.ok()) return kernel.status();
    device::KernelArguments arguments;
    arguments.Add(a).Add(b).Add(c).Add(side_);
    if (task_.repeat > 0) arguments.Add(task_.repeat);
    return gpu_.Launch(*kernel, side_ / task_.columns_of_a_block, side_ / 64, kThreadsOfABlock, arguments);
  }

  Result<Mismatches> Compare(const device::GpuMemory& c, const device::GpuMemory& reference,
                             const device::GpuMemory& result) const {
    const Result<device::DriverHandle> kernel = gpu_.Kernel("glim_compare");
    if (!kernel.ok()) return kernel.status();
    if (Status status = ClearMismatches(gpu_, result); !status.ok()) return status;
    device::KernelArguments arguments;
    arguments.Add(c.address()).Add(reference.address()).Add(result.address());
    arguments.Add(static_cast<std::uint64_t>(std::countr_zero(side_)));
    if (Status status = gpu_.Launch(*kernel, BlocksFor(gpu_), 1, kThreadsOfABlock, arguments); !status.ok()) {
      return status;
    }
    return MismatchesIn(gpu_, result);
  }

  const device::Gpu& gpu_;
  const Task& task_;
  const std::uint32_t side_;
};

}  // namespace

Readings MeasureGpuMultiply(const device::Gpu& gpu, double seconds, std::uint32_t side_max) {
  const Result<std::uint32_t> side = SideOf(gpu, side_max);
  if (!side.ok()) return side.status();
  std::vector<Reading> readings;
  for (const Task& task : *TasksFor(*side)) {
    if (task.repeat > 0 && gpu.capability_major() < kTensorCapability) continue;
    Result<Reading> reading = Multiplication(gpu, task, *side).Run(seconds);
    if (!reading.ok()) return reading.status();
    readings.push_back(std::move(*reading));
  }
  return readings;
}

}  // namespace glim::validate
