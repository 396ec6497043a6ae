#include "nodeagent/programs/validate/gpu_copy.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "nodeagent/programs/validate/gpu_memory.h"
#include "nodeagent/programs/validate/pattern.h"

namespace glim::validate {
namespace {

constexpr std::size_t kBuffersInFree = 8;  // two buffers, and room for what others do
constexpr int kGpuCopies = 5;
constexpr auto kSent = static_cast<std::uint32_t>(Pattern::kRandom);

Result<device::GpuMemory> BufferOf(const device::Gpu& gpu, std::size_t bytes_max) {
  const Result<std::size_t> free = gpu.FreeBytes();
  if (!free.ok()) return free.status();
  const std::size_t bytes = std::min(bytes_max, *free / kBuffersInFree) / sizeof(std::uint64_t) * sizeof(std::uint64_t);
  return gpu.Allocate(std::max(bytes, sizeof(std::uint64_t)));
}

// GB/s of the best of several.
Result<double> BestGbps(const device::Gpu& gpu, std::size_t bytes, const std::function<Status()>& copy) {
  double best = 0;
  for (int i = 0; i < kGpuCopies; ++i) {
    const Result<double> took = gpu.SecondsOf(copy);
    if (!took.ok()) return took.status();
    best = std::max(best, static_cast<double>(bytes) / *took / 1e9);
  }
  return best;
}

// Each GPU's words are its own.
std::uint64_t FirstPlaceOf(const device::Gpu& gpu) { return static_cast<std::uint64_t>(gpu.index() + 1) << 40; }

// A GPU among others: what it sends, and where it takes what they send.
struct Peer {
  const device::Gpu* gpu;
  device::GpuMemory sends, takes, result;
};

Result<Peer> PeerOf(const device::Gpu& gpu, std::size_t bytes_max) {
  Result<device::GpuMemory> sends = BufferOf(gpu, bytes_max);
  if (!sends.ok()) return sends.status();
  Result<device::GpuMemory> takes = gpu.Allocate(sends->bytes());
  if (!takes.ok()) return takes.status();
  Result<device::GpuMemory> result = gpu.Allocate(sizeof(Mismatches));
  if (!result.ok()) return result.status();
  const std::uint64_t words = sends->bytes() / sizeof(std::uint64_t);
  Status status = AskWords(gpu, sends->address(), words, kSent, FirstPlaceOf(gpu), nullptr);
  if (status.ok()) status = gpu.Finish();
  if (!status.ok()) return status;
  return Peer{&gpu, std::move(*sends), std::move(*takes), std::move(*result)};
}

Result<Reading> OnePair(const Peer& from, const Peer& to, const Linked& linked) {
  const Result<bool> reaches = from.gpu->ReachPeer(*to.gpu);
  if (!reaches.ok()) return reaches.status();
  const char* const what = !*reaches ? "peer_by_host" : linked(*from.gpu, *to.gpu) ? "peer_nvlink" : "peer_pci";
  Reading reading{
      .part = "gpu", .what = what, .device = GpuName(*from.gpu) + " -> " + GpuName(*to.gpu), .wrong = {}, .note = {}};
  const std::size_t bytes = std::min(from.sends.bytes(), to.takes.bytes());
  const std::uint64_t words = bytes / sizeof(std::uint64_t);
  // What lay there before must not be taken for what came.
  Status status = AskWords(*to.gpu, to.takes.address(), words, 0, 0, nullptr);
  if (status.ok()) status = to.gpu->Finish();
  if (!status.ok()) return status;
  const Result<double> gbps = BestGbps(
      *from.gpu, bytes, [&] { return from.gpu->ToPeer(*to.gpu, to.takes.address(), from.sends.address(), bytes); });
  if (!gbps.ok()) return gbps.status();
  reading.value = *gbps;
  status = ClearMismatches(*to.gpu, to.result);
  if (status.ok()) status = AskWords(*to.gpu, to.takes.address(), words, kSent, FirstPlaceOf(*from.gpu), &to.result);
  if (!status.ok()) return status;
  const Result<Mismatches> found = MismatchesIn(*to.gpu, to.result);
  if (!found.ok()) return found.status();
  if (found->count > 0) {
    reading.wrong = "what came is not what was sent: " + std::to_string(found->count) + " words, the first at byte " +
                    std::to_string(found->first * sizeof(std::uint64_t));
  }
  return reading;
}

}  // namespace

Readings MeasureGpuHostCopies(const device::Gpu& gpu, std::size_t bytes_max) {
  const Result<device::GpuMemory> there = BufferOf(gpu, bytes_max);
  if (!there.ok()) return there.status();
  const std::size_t bytes = there->bytes();
  const Result<device::HostMemory> here = gpu.AllocateHost(bytes);
  if (!here.ok()) return here.status();
  const std::span<std::uint64_t> words(static_cast<std::uint64_t*>(here->start()), bytes / sizeof(std::uint64_t));
  Fill(words, Pattern::kRandom, FirstPlaceOf(gpu));
  const Result<double> to_device =
      BestGbps(gpu, bytes, [&] { return gpu.ToDevice(there->address(), here->start(), bytes); });
  if (!to_device.ok()) return to_device.status();
  std::fill(words.begin(), words.end(), 0);
  const Result<double> to_host =
      BestGbps(gpu, bytes, [&] { return gpu.ToHost(here->start(), there->address(), bytes); });
  if (!to_host.ok()) return to_host.status();
  Reading to{.part = "gpu", .what = "to_device", .device = GpuName(gpu), .value = *to_device, .wrong = {}, .note = {}};
  Reading back{.part = "gpu", .what = "to_host", .device = GpuName(gpu), .value = *to_host, .wrong = {}, .note = {}};
  const std::optional<std::string> wrong = FirstWrong(words, Pattern::kRandom, FirstPlaceOf(gpu));
  if (wrong) back.wrong = "what came back from the GPU is not what was sent: " + *wrong;
  return std::vector<Reading>{std::move(to), std::move(back)};
}

Readings MeasureGpuPeers(const std::vector<std::unique_ptr<device::Gpu>>& gpus, const Linked& linked,
                         std::size_t bytes_max) {
  std::vector<Peer> peers;
  for (const auto& gpu : gpus) {
    Result<Peer> peer = PeerOf(*gpu, bytes_max);
    if (!peer.ok()) return peer.status();
    peers.push_back(std::move(*peer));
  }
  std::vector<Reading> readings;
  for (const Peer& from : peers) {
    for (const Peer& to : peers) {
      if (&from == &to) continue;
      Result<Reading> reading = OnePair(from, to, linked);
      if (!reading.ok()) return reading.status();
      readings.push_back(std::move(*reading));
    }
  }
  return readings;
}

}  // namespace glim::validate
