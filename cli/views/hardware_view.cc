#include "cli/views/hardware_view.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "cli/text/render_table.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/size_text.h"

namespace glim::cli {
namespace {

constexpr int kIndent = 2;
constexpr int kEvidenceWidth = 100;
constexpr std::int64_t kMbpsOfGbps = 1000;

std::string Line(const char* label, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:<11} {}\n", label, Escaped(value));
}

std::string Bytes(std::int64_t bytes) { return bytes <= 0 ? "-" : RoundedSizeText(static_cast<std::uint64_t>(bytes)); }

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string NumaText(std::int32_t node) { return node < 0 ? "-" : std::to_string(node); }

std::string Count(std::uint32_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// "400 Gb/s", "100 Mb/s"
std::string RateText(std::int64_t mbps) {
  if (mbps <= 0) return "-";
  return mbps % kMbpsOfGbps == 0 ? fmt::format("{} Gb/s", mbps / kMbpsOfGbps) : fmt::format("{} Mb/s", mbps);
}

// "128 CPUs, 64 cores, 2 sockets, 4 NUMA nodes: AMD EPYC 7742"
std::string CpusText(const glim::v1::NodeInventory& found) {
  if (found.cpus() == 0) return found.cpu_model();
  std::string text = Count(found.cpus(), "CPU");
  if (found.cores() > 0) text += ", " + Count(found.cores(), "core");
  if (found.sockets() > 0) text += ", " + Count(found.sockets(), "socket");
  if (found.numa_nodes() > 0) text += ", " + Count(found.numa_nodes(), "NUMA node");
  return found.cpu_model().empty() ? text : text + ": " + found.cpu_model();
}

std::string GpusTable(const glim::v1::NodeInventory& found, bool colour) {
  Table table({{"GPU", true}, {"TYPE"}, {"MEMORY", true}, {"PCI"}, {"NUMA", true}, {"NVLINK TO"}, {"UUID"}});
  for (const auto& gpu : found.gpus()) {
    const std::string links = gpu.nvlink_size() == 0 ? "-" : fmt::format("{}", fmt::join(gpu.nvlink(), " "));
    table.AddRow({std::to_string(gpu.index()), gpu.type(), Bytes(gpu.memory_bytes()), OrDash(gpu.pci()),
                  NumaText(gpu.numa_node()), links, OrDash(gpu.uuid())});
  }
  return table.empty() ? "" : table.Render(colour, kIndent);
}

std::string NicsTable(const glim::v1::NodeInventory& found, bool colour) {
  Table table({{"CARD"}, {"KIND"}, {"STATE"}, {"RATE", true}, {"NUMA", true}, {"PCI"}});
  for (const auto& nic : found.nics()) {
    table.AddRow(
        {nic.name(), nic.kind(), nic.state(), RateText(nic.rate_mbps()), NumaText(nic.numa_node()), OrDash(nic.pci())});
  }
  return table.empty() ? "" : table.Render(colour, kIndent);
}

std::string DisksTable(const glim::v1::NodeInventory& found, bool colour) {
  Table table({{"DISK"}, {"SIZE", true}, {"KIND"}, {"MODEL"}});
  for (const auto& disk : found.disks()) {
    table.AddRow({disk.name(), Bytes(disk.bytes()), disk.rotational() ? "rotates" : "flash", OrDash(disk.model())});
  }
  return table.empty() ? "" : table.Render(colour, kIndent);
}

// "Xid 79", "fatal SXid 24007", "link flash"
std::string FindingText(const std::string& check, std::int64_t code) {
  if (check == "xid") return fmt::format("Xid {}", code);
  if (check == "sxid") return fmt::format("SXid {}", code);
  if (check == "sxid_fatal") return fmt::format("fatal SXid {}", code);
  std::string words = check;
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string VerdictText(const std::string& verdict) {
  if (verdict == "recorded") return "recorded";
  if (verdict == "jobs_fault") return "the program's fault";
  if (verdict == "restarted") return "its job goes on elsewhere";
  if (verdict == "drained") return "drained";
  if (verdict == "cordoned") return "no job starts there";
  return verdict == "out" ? "taken out" : verdict;
}

Style VerdictStyle(const std::string& verdict) {
  if (verdict == "out") return Style::kBad;
  return verdict == "recorded" || verdict == "jobs_fault" ? Style::kPlain : Style::kWarn;
}

// "100 Gb/s of 200; the kernel's line"
template <typename Found>
std::string EvidenceText(const Found& found) {
  std::string text;
  if (!found.unit().empty()) {
    text = fmt::format("{} {}", found.value(), found.unit());
    if (found.expected() != 0) text += fmt::format(" of {}", found.expected());
  }
  if (found.text().empty()) return OrDash(text);
  return text.empty() ? found.text() : text + "; " + found.text();
}

std::string ConditionsTable(const glim::v1::Node& node, TimePoint now, bool colour) {
  Table table({{"IS SO"}, {"OF"}, {"SINCE"}, {"WHAT WAS DONE"}, {"EVIDENCE", false, kEvidenceWidth}});
  for (const auto& condition : node.health_conditions()) {
    table.AddRow({FindingText(condition.check(), 0), OrDash(condition.device()), FormatAgo({condition.since_ms()}, now),
                  Cell(VerdictText(condition.verdict()), VerdictStyle(condition.verdict())), EvidenceText(condition)});
  }
  return table.empty() ? "" : table.Render(colour, kIndent);
}

std::string EventsTable(const glim::v1::Node& node, TimePoint now, bool colour) {
  Table table({{"HAPPENED"}, {"OF"}, {"WHEN"}, {"WHAT WAS DONE"}, {"JOB", true}, {"EVIDENCE", false, kEvidenceWidth}});
  for (const auto& event : node.health_events()) {
    table.AddRow({FindingText(event.check(), event.code()), OrDash(event.device()), FormatAgo({event.at_ms()}, now),
                  Cell(VerdictText(event.verdict()), VerdictStyle(event.verdict())),
                  event.job_id() == 0 ? "-" : std::to_string(event.job_id()), EvidenceText(event)});
  }
  return table.empty() ? "" : table.Render(colour, kIndent);
}

}  // namespace

std::string HardwareText(const glim::v1::Node& node, bool colour) {
  if (!node.has_inventory()) return "";
  const glim::v1::NodeInventory& found = node.inventory();
  std::string text = Line("cpus", CpusText(found));
  if (found.memory_bytes() > 0) text += Line("memory", Bytes(found.memory_bytes()));
  text += Line("kernel", found.kernel()) + Line("driver", found.gpu_driver());
  for (const std::string& warning : found.warnings()) text += Line("not found", warning);
  if (node.labels().simulated_gpus()) {
    text += Line("simulated", "jobs get simulated GPUs here, and none of those that are found");
  }
  return text + GpusTable(found, colour) + NicsTable(found, colour) + DisksTable(found, colour);
}

std::string HealthText(const glim::v1::Node& node, TimePoint now, bool colour) {
  const int so = node.health_conditions_size(), happened = node.health_events_size();
  if (so + happened == 0) return node.has_inventory() ? Line("health", "nothing was found") : "";
  const std::string now_words = so == 0 ? "nothing is wrong now" : fmt::format("{} wrong now", so);
  const std::string past = happened == 0 ? "" : fmt::format("; the newest {} of what happened", happened);
  return Line("health", now_words + past) + ConditionsTable(node, now, colour) + EventsTable(node, now, colour);
}

std::string FailuresText(const glim::v1::Node& node, TimePoint now) {
  std::string text;
  for (const auto& failure : node.failures()) {
    const std::string device = failure.device().empty() ? "" : " of " + failure.device();
    const std::string words =
        fmt::format("{}: {}{}, job {}", FormatAgo({failure.at_ms()}, now), failure.cause(), device, failure.job_id());
    text += text.empty() ? Line("failures", words) : fmt::format("{:<11} {}\n", "", Escaped(words));
  }
  return text;
}

std::string LemonText(const glim::v1::Node& node) {
  return node.lemon() ? "unreliable: jobs failed by it again and again, large ones go elsewhere while others fit" : "";
}

std::string MendLabelsText(const glim::v1::Node& node) {
  if (node.hardware_differs().empty()) return "";
  return Line("mend", fmt::format("put the hardware right, or let its labels say what is there: glim admin node label "
                                  "{} --gpus N; any label that is given accepts the difference",
                                  ShellQuote(node.name())));
}

}  // namespace glim::cli
