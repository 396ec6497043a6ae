#include "nodeagent/health/gpu_rules.h"

#include <set>
#include <string_view>
#include <utility>

#include "nodeagent/health/counters.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::string_view kSeen = "gpu ";  // and its address: it has answered since the boot

Finding OfGpu(const char* check, const std::string& pci, std::string text) {
  Finding finding;
  finding.check = check;
  finding.device = pci;
  finding.text = MakeText(text);
  return finding;
}

Finding Measured(Finding finding, std::int64_t value, std::int64_t expected, const char* unit) {
  finding.value = value;
  finding.expected = expected;
  finding.unit = unit;
  return finding;
}

void LookForErrors(const GpuReading& gpu, std::int64_t now_ms, Memory& memory, Looks& looks) {
  const auto tell = [&](const char* check, const char* which, std::int64_t count) {
    if (count == 0) return;
    const std::string text = std::to_string(count) + " " + which + " ECC errors";
    looks.events.push_back(Measured(OfGpu(check, gpu.pci, text), count, 0, "errors"));
  };
  if (gpu.uncorrected) {
    tell("gpu_ecc_uncorrected", "uncorrected", Rise(memory, gpu.pci + " uncorrected", *gpu.uncorrected));
  }
  if (gpu.corrected) {
    tell("gpu_ecc_corrected", "corrected",
         PacedRise(memory, gpu.pci + " corrected", *gpu.corrected, now_ms, kGpuCorrectedPauseMs));
  }
}

// Of links that have been active since the boot: a GPU without a bridge has links that lead nowhere.
void LookAtLinks(const GpuReading& gpu, Memory& memory, Looks& looks) {
  std::string down;
  std::int64_t count = 0;
  for (const GpuReading::Link& link : gpu.links) {
    const std::string key = gpu.pci + " link " + std::to_string(link.number);
    if (link.active) memory[key] = 1;
    if (link.active || !memory.contains(key)) continue;
    down += (down.empty() ? "" : ", ") + std::to_string(link.number);
    ++count;
  }
  if (count == 0) return;
  const auto all = static_cast<std::int64_t>(gpu.links.size());
  looks.conditions.push_back(
      Measured(OfGpu("nvlink_down", gpu.pci, "NVLink " + down + " is not active any more"), all - count, all, "links"));
}

// Whether it is so for longer than `ms`.
bool Lasts(Memory& memory, const std::string& key, bool now, std::int64_t now_ms, std::int64_t ms) {
  if (!now) {
    memory.erase(key);
    return false;
  }
  return now_ms - memory.try_emplace(key, now_ms).first->second > ms;
}

void LookAtPace(const GpuReading& gpu, std::int64_t now_ms, Memory& memory, Looks& looks) {
  if (Lasts(memory, gpu.pci + " throttled", gpu.throttled, now_ms, kThrottledMsMost)) {
    const std::string text = "the hardware has kept the clocks low for more than a minute: " + gpu.throttled_by;
    looks.conditions.push_back(OfGpu("gpu_throttled", gpu.pci, text));
  }
  const bool narrow = gpu.width > 0 && gpu.width < gpu.most_width;
  const bool slow = gpu.busy_percent >= kBusyPercent && gpu.generation > 0 && gpu.generation < gpu.most_generation;
  if (!Lasts(memory, gpu.pci + " slow", narrow || slow, now_ms, kThrottledMsMost)) return;
  const std::int64_t value = narrow ? gpu.width : gpu.generation;
  const std::int64_t most = narrow ? gpu.most_width : gpu.most_generation;
  const char* unit = narrow ? "lanes" : "PCIe generation";
  const std::string text =
      std::string("the PCIe link has ") + unit + " " + std::to_string(value) + " of " + std::to_string(most);
  looks.conditions.push_back(Measured(OfGpu("pcie_slow", gpu.pci, text), value, most, unit));
}

}  // namespace

Looks LookAtGpus(const std::vector<GpuReading>& all, std::int64_t now_ms, Memory& memory) {
  Looks looks;
  std::set<std::string> answer;
  for (const GpuReading& gpu : all) {
    if (gpu.lost) continue;
    answer.insert(gpu.pci);
    if (gpu.unread) continue;
    memory[std::string(kSeen) + gpu.pci] = 1;
    LookForErrors(gpu, now_ms, memory, looks);
    LookAtLinks(gpu, memory, looks);
    LookAtPace(gpu, now_ms, memory, looks);
    if (gpu.remap_failed) {
      looks.conditions.push_back(
          OfGpu("gpu_row_remap_failed", gpu.pci, "the GPU has no spare rows left for rows of memory that fail"));
    }
    if (gpu.reset_pending) {
      looks.conditions.push_back(
          OfGpu("gpu_retired_pages_pending", gpu.pci, "memory that failed is replaced at the GPU's next reset"));
    }
  }
  for (const auto& [key, one] : memory) {
    if (!key.starts_with(kSeen) || answer.contains(key.substr(kSeen.size()))) continue;
    looks.conditions.push_back(
        OfGpu("gpu_lost", key.substr(kSeen.size()), "the GPU has answered since the boot, and does not any more"));
  }
  return looks;
}

}  // namespace glim::nodeagent::health
