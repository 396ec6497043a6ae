#include "nodeagent/health/port_rules.h"

#include <utility>

#include "nodeagent/health/text_scan.h"

namespace glim::nodeagent::health {
namespace {

Finding About(const char* check, const std::string& device, const std::string& text, std::int64_t value,
              std::int64_t expected, const char* unit) {
  Finding finding;
  finding.check = check;
  finding.device = device;
  finding.text = MakeText(text);
  finding.value = value;
  finding.expected = expected;
  finding.unit = unit;
  return finding;
}

// A flash is told once: by the kernel's counter, or by the port's state where that does not count it.
void LookForFlash(const PortReading& port, Memory& memory, Looks& looks) {
  const std::string away = port.name + " away", counted = port.name + " counted";
  const std::int64_t downs = port.downed ? Rise(memory, port.name + " downed", *port.downed) : 0;
  if (downs > 0) {
    looks.events.push_back(
        About("link_flash", port.name, "the link went down " + std::to_string(downs) + " times", downs, 0, "times"));
  }
  if (!port.active) {
    memory[away] = 1;
    if (downs > 0) memory[counted] = 1;
    return;
  }
  if (memory.erase(away) > 0 && downs == 0 && !memory.contains(counted)) {
    looks.events.push_back(
        About("link_flash", port.name, "the port left the state ACTIVE and came back", 1, 0, "times"));
  }
  memory.erase(counted);
}

void LookForErrors(const PortReading& port, std::int64_t now_ms, Memory& memory, Looks& looks) {
  const auto look = [&](const char* words, const std::optional<std::int64_t>& counter, const AllowedRise& allowed) {
    if (!counter) return;
    const std::int64_t rise = TooFast(memory, port.name + " " + words, *counter, now_ms, allowed);
    if (rise == 0) return;
    looks.events.push_back(About("link_errors", port.name, std::to_string(rise) + " " + words + " within an hour", rise,
                                 allowed.amount, "errors"));
  };
  look("symbol errors", port.symbol_errors, kSymbolErrorsAllowed);
  look("link recoveries", port.recoveries, kRecoveriesAllowed);
}

}  // namespace

Looks LookAtPort(const PortReading& port, std::int64_t now_ms, Memory& memory) {
  Looks looks;
  const std::string up = port.name + " up";
  if (port.active) memory[up] = 1;
  if (!memory.contains(up)) return looks;
  LookForFlash(port, memory, looks);
  LookForErrors(port, now_ms, memory, looks);
  if (!port.active) {
    looks.conditions.push_back(About("link_down", port.name, "the port is " + port.state, 0, 0, ""));
  } else if (port.rate_mbps) {
    std::int64_t& best = memory[port.name + " rate"];
    if (*port.rate_mbps >= best) {
      best = *port.rate_mbps;
    } else {
      looks.conditions.push_back(
          About("link_slow", port.name,
                "the link has " + std::to_string(*port.rate_mbps) + " Mb/s, and had " + std::to_string(best),
                *port.rate_mbps, best, "Mb/s"));
    }
  }
  return looks;
}

Looks LookAtInterface(const InterfaceReading& interface, Memory& memory) {
  Looks looks;
  const std::string up = interface.name + " up";
  if (interface.up) memory[up] = 1;
  if (!interface.up && memory.contains(up)) {
    looks.conditions.push_back(About("link_down", interface.name, "the interface is " + interface.state, 0, 0, ""));
  }
  return looks;
}

std::optional<std::int64_t> RateOf(std::string_view text) {
  TextScan scan(text);
  const std::optional<std::int64_t> whole = scan.Number();
  if (!whole || *whole > 1'000'000) return std::nullopt;
  std::int64_t mbps = *whole * 1000;
  if (scan.Take(".")) {  // 2.5 Gb/sec
    std::int64_t weight = 100;
    for (const char digit : scan.Until(" ")) {
      if (!TextScan::IsDigit(digit)) return std::nullopt;
      mbps += weight * (digit - '0');
      weight /= 10;
    }
  }
  return scan.Is(" Gb/sec") ? std::optional(mbps) : std::nullopt;
}

}  // namespace glim::nodeagent::health
