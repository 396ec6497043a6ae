#include "nodeagent/programs/validate/gpu_memory.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "nodeagent/programs/validate/pattern.h"

namespace glim::validate {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 30;
constexpr std::size_t kQuickGpuBytes = std::size_t{1} << 30;
constexpr std::size_t kReserveMost = std::size_t{512} << 20;  // the driver takes some while it runs
constexpr std::size_t kGranule = 4096;
constexpr unsigned kBlocksOfAMultiprocessor = 8;  // of 256 threads: all that it can hold

struct Chunk {
  device::GpuMemory memory;
  std::uint64_t first;  // its first word's place
};

Result<std::vector<Chunk>> Take(const device::Gpu& gpu, bool full) {
  const Result<std::size_t> free = gpu.FreeBytes();
  if (!free.ok()) return free.status();
  std::size_t left = *free - std::min(*free / 8, kReserveMost);
  if (!full) left = std::min(left, kQuickGpuBytes);
  std::vector<Chunk> chunks;
  std::uint64_t place = 0;
  while (left >= kGranule) {
    const std::size_t bytes = std::min(left, kChunkBytes) / kGranule * kGranule;
    Result<device::GpuMemory> memory = gpu.Allocate(bytes);
    if (!memory.ok()) {
      // What is free need not be in pieces of this size.
      if (!chunks.empty() && memory.status().reason() == device::kGpuIsTaken) break;
      return memory.status();
    }
    chunks.push_back({std::move(*memory), place});
    place += bytes / sizeof(std::uint64_t);
    left -= bytes;
  }
  return chunks;
}

std::string TextOfWrongWords(const Chunk& chunk, Pattern pattern, const Mismatches& found) {
  const std::uint64_t byte = found.first * sizeof(std::uint64_t);
  char text[224];
  std::snprintf(text, sizeof text,
                "%llu wrong words; the first at byte 0x%" PRIx64 " of the memory that was tested (address 0x%" PRIx64
                "), bits 0x%016llx, pattern %s",
                found.count, chunk.first * sizeof(std::uint64_t) + byte, chunk.memory.address() + byte, found.bits,
                ToString(pattern));
  return text;
}

struct Speeds {
  double write = 0, read = 0;  // bytes a second
};

// Empty: all words are right.
Result<std::string> TestPattern(const device::Gpu& gpu, const std::vector<Chunk>& chunks, Pattern pattern,
                                const device::GpuMemory& result, Speeds* best) {
  std::size_t bytes = 0;
  for (const Chunk& chunk : chunks) bytes += chunk.memory.bytes();
  const auto number = static_cast<std::uint32_t>(pattern);
  const auto all = [&](const device::GpuMemory* verify) {
    Status status = Status::Ok();
    for (const Chunk& chunk : chunks) {
      const std::uint64_t words = chunk.memory.bytes() / sizeof(std::uint64_t);
      if (status.ok()) status = AskWords(gpu, chunk.memory.address(), words, number, chunk.first, verify);
    }
    return status;
  };
  const Result<double> wrote = gpu.SecondsOf([&] { return all(nullptr); });
  if (!wrote.ok()) return wrote.status();
  if (Status status = ClearMismatches(gpu, result); !status.ok()) return status;
  const Result<double> looked = gpu.SecondsOf([&] { return all(&result); });
  if (!looked.ok()) return looked.status();
  best->write = std::max(best->write, static_cast<double>(bytes) / *wrote);
  best->read = std::max(best->read, static_cast<double>(bytes) / *looked);
  Result<Mismatches> found = MismatchesIn(gpu, result);
  if (!found.ok()) return found.status();
  if (found->count == 0) return std::string();
  // Somewhere it is wrong: one chunk after the other says where.
  for (const Chunk& chunk : chunks) {
    Status status = ClearMismatches(gpu, result);
    const std::uint64_t words = chunk.memory.bytes() / sizeof(std::uint64_t);
    if (status.ok()) status = AskWords(gpu, chunk.memory.address(), words, number, chunk.first, &result);
    if (!status.ok()) return status;
    const Result<Mismatches> here = MismatchesIn(gpu, result);
    if (!here.ok()) return here.status();
    if (here->count > 0) return TextOfWrongWords(chunk, pattern, *here);
  }
  return std::to_string(found->count) + " words were read wrong once, pattern " + ToString(pattern);
}

}  // namespace

std::string GpuName(const device::Gpu& gpu) { return "gpu" + std::to_string(gpu.index()); }

unsigned BlocksFor(const device::Gpu& gpu) {
  return static_cast<unsigned>(std::max(gpu.multiprocessors(), 1)) * kBlocksOfAMultiprocessor;
}

Status AskWords(const device::Gpu& gpu, device::DeviceAddress words, std::uint64_t count, std::uint32_t pattern,
                std::uint64_t first, const device::GpuMemory* result) {
  const Result<device::DriverHandle> kernel = gpu.Kernel("glim_words");
  if (!kernel.ok()) return kernel.status();
  device::KernelArguments arguments;
  arguments.Add(words).Add(count).Add(result == nullptr ? 0 : result->address()).Add(first).Add(pattern);
  arguments.Add(result == nullptr ? 0 : 1);
  return gpu.Launch(*kernel, BlocksFor(gpu), 1, kThreadsOfABlock, arguments);
}

Status ClearMismatches(const device::Gpu& gpu, const device::GpuMemory& result) {
  const Mismatches none{.count = 0, .first = kNoIndex, .bits = 0};
  Status status = gpu.ToDevice(result.address(), &none, sizeof none);
  return status.ok() ? gpu.Finish() : status;
}

Result<Mismatches> MismatchesIn(const device::Gpu& gpu, const device::GpuMemory& result) {
  Mismatches found;
  Status status = gpu.ToHost(&found, result.address(), sizeof found);
  if (status.ok()) status = gpu.Finish();
  if (!status.ok()) return status;
  return found;
}

Readings MeasureGpuMemory(const device::Gpu& gpu, bool full) {
  const Result<device::GpuMemory> result = gpu.Allocate(sizeof(Mismatches));
  if (!result.ok()) return result.status();
  const Result<std::vector<Chunk>> chunks = Take(gpu, full);
  if (!chunks.ok()) return chunks.status();
  Reading patterns{.part = "gpu", .what = "patterns", .device = GpuName(gpu), .wrong = {}, .note = {}};
  Speeds best;
  for (const Pattern pattern : kPatterns) {
    const Result<std::string> wrong = TestPattern(gpu, *chunks, pattern, *result, &best);
    if (!wrong.ok()) return wrong.status();
    if (patterns.wrong.empty()) patterns.wrong = *wrong;
  }
  for (const Chunk& chunk : *chunks) patterns.value += static_cast<double>(chunk.memory.bytes()) / 1e6;
  patterns.note = gpu.name() + " at " + gpu.pci();
  Reading write{.part = "gpu", .what = "write", .device = GpuName(gpu), .wrong = {}, .note = {}};
  Reading read = write;
  write.value = best.write / 1e9;
  read.what = "read";
  read.value = best.read / 1e9;
  return std::vector<Reading>{std::move(patterns), std::move(write), std::move(read)};
}

}  // namespace glim::validate
