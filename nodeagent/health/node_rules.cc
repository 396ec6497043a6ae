#include "nodeagent/health/node_rules.h"

#include <algorithm>

#include "nodeagent/health/counters.h"
#include "nodeagent/health/text_scan.h"

namespace glim::nodeagent::health {
namespace {

Finding MemoryErrors(const ModuleReading& module, const char* check, std::int64_t count, const char* which) {
  Finding finding;
  finding.check = check;
  finding.device = module.name;
  finding.text = MakeText(std::to_string(count) + " " + which + " errors of memory" +
                          (module.label.empty() ? "" : " in " + module.label));
  finding.value = count;
  finding.unit = "errors";
  return finding;
}

// Whether it is so at this look and was at the one before.
bool TwiceInARow(Memory& memory, const std::string& key, bool now) {
  if (!now) {
    memory.erase(key);
    return false;
  }
  return !memory.try_emplace(key, 1).second;
}

std::int64_t Common(std::int64_t card, std::int64_t slot) { return slot > 0 ? std::min(card, slot) : card; }

}  // namespace

Looks LookAtModule(const ModuleReading& module, std::int64_t now_ms, Memory& memory) {
  Looks looks;
  if (module.uncorrected) {
    const std::int64_t count = Rise(memory, module.name + " uncorrected", *module.uncorrected);
    if (count > 0) looks.events.push_back(MemoryErrors(module, "memory_ecc_uncorrected", count, "uncorrected"));
  }
  if (module.corrected) {
    const std::int64_t count =
        PacedRise(memory, module.name + " corrected", *module.corrected, now_ms, kCorrectedPauseMs);
    if (count > 0) looks.events.push_back(MemoryErrors(module, "memory_ecc_corrected", count, "corrected"));
  }
  return looks;
}

Looks LookAtCard(const CardReading& card, Memory& memory) {
  Looks looks;
  const PcieLink most{Common(card.most.speed, card.slot.speed), Common(card.most.width, card.slot.width)};
  const bool narrow = card.now.width > 0 && card.now.width < most.width;
  const bool slow = !card.gpu && card.now.speed > 0 && card.now.speed < most.speed;
  if (!TwiceInARow(memory, card.address + " slow", narrow || slow)) return looks;
  Finding finding;
  finding.check = "pcie_slow";
  finding.device = card.address;
  finding.value = narrow ? card.now.width : card.now.speed;
  finding.expected = narrow ? most.width : most.speed;
  finding.unit = narrow ? "lanes" : "MT/s";
  finding.text = "the PCIe link has " + std::to_string(finding.value) + " " + finding.unit + " of " +
                 std::to_string(finding.expected);
  looks.conditions.push_back(finding);
  return looks;
}

std::int64_t PcieSpeedOf(std::string_view text) {
  TextScan scan(text);
  const std::optional<std::int64_t> whole = scan.Number();
  if (!whole || *whole > 10'000) return 0;
  std::int64_t tenths = 0;
  if (scan.Take(".")) tenths = scan.Number().value_or(0);
  return scan.Is(" GT/s") && tenths < 10 ? *whole * 1000 + tenths * 100 : 0;
}

Looks LookAtPackage(const PackageReading& package, Memory& memory) {
  Looks looks;
  const std::int64_t rise = Rise(memory, package.name + " throttles", package.throttles);
  if (!TwiceInARow(memory, package.name + " throttled", rise >= kThrottlesAllowed)) return looks;
  Finding finding;
  finding.check = "cpu_throttled";
  finding.device = package.name;
  finding.value = rise;
  finding.expected = kThrottlesAllowed;
  finding.unit = "times";
  finding.text = "the processor was slowed down for its heat " + std::to_string(rise) + " times since the last look";
  looks.conditions.push_back(finding);
  return looks;
}

}  // namespace glim::nodeagent::health
