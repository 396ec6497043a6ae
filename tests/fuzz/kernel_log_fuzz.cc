// Any bytes as the kernel's log, a record a line: each finding is one of the checks that lines tell, with a device and
// a text that are short and printable, and as a line for the agent it is read as it was written. The same bytes as what
// smartctl prints: they are read, or there is a reason why not.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "nodeagent/health/kernel_reader.h"
#include "nodeagent/health/wire/health_line.h"
#include "nodeagent/health/wire/smart_document.h"
#include "tests/fuzz/holds.h"

namespace {

using glim::fuzz::Holds;
using namespace glim::nodeagent::health;

const std::set<std::string>& Checks() {
  static const std::set<std::string> checks = {
      "xid",           "sxid",       "sxid_fatal",       "memory_ecc_corrected", "memory_ecc_uncorrected",
      "machine_check", "disk_error", "kernel_lines_lost"};
  return checks;
}

void Check(const Finding& finding) {
  Holds(Checks().contains(finding.check), "a check of lines", finding.check);
  Holds(finding.text.size() <= kTextBytesMax && finding.device.size() <= kDeviceBytesMax, "short", finding.text);
  for (const char c : finding.text + finding.device) {
    Holds(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, "no control characters", finding.text);
  }
  Holds(finding.value > 0 && finding.pid >= 0, "a count of lines, and a process or none", finding.check);
  HealthLine line;
  line.kind = HealthLine::Kind::kEvent;
  line.finding = finding;
  std::string text = ToText(line);
  text.pop_back();
  Holds(ParseHealthLine(text) == line, "the agent reads what was written", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view log(reinterpret_cast<const char*>(data), size);
  KernelReader reader({});
  std::int64_t now_ms = 0;
  while (!log.empty()) {
    const std::string_view record = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), record.size() + 1));
    reader.Read(record, now_ms);
    for (const Finding& finding : reader.Due(now_ms += 30)) Check(finding);
  }
  for (const Finding& finding : reader.Due(now_ms + kHoldMs)) Check(finding);
  Holds(!reader.NextDue(), "nothing is held for ever");
  (void)ParseHealthLine({reinterpret_cast<const char*>(data), size});
  const auto reading = ParseSmartDocument({reinterpret_cast<const char*>(data), size});
  Holds(reading.ok() || !reading.status().message().empty(), "a reason", "");
  return 0;
}
