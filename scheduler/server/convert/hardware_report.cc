#include "scheduler/server/convert/hardware_report.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/history_report.h"
#include "scheduler/server/convert/mtbf.h"
#include "scheduler/store/contract/hardware_history.h"

namespace glim::server {
namespace {

using core::HistoryEntry;
using core::HistoryKind;
using core::Outcome;

constexpr Duration kOneFailure = Hours(1);
constexpr auto kMsPerDay = static_cast<double>(Hours(24).ms);
constexpr std::size_t kEntriesOfHardware = 5'000;  // read at once
constexpr std::array<Outcome, 5> kHardwareEnds = {Outcome::kNodeFailure, Outcome::kGpuFailure, Outcome::kNetwork,
                                                  Outcome::kHang, Outcome::kOutOfMemory};

bool IsLinkCheck(const std::string& check) { return check.starts_with("link_"); }

// What an attempt with this outcome can be put down to.
bool Explains(Outcome outcome, std::string_view of) {
  const bool network = of == "network";
  if (outcome == Outcome::kNetwork) return network;
  return (outcome == Outcome::kGpuFailure || outcome == Outcome::kNodeFailure) && !network;
}

bool TookOut(core::HealthVerdict verdict) {
  return verdict != core::HealthVerdict::kRecorded && verdict != core::HealthVerdict::kJobsFault;
}

std::chrono::year_month_day DayOf(TimePoint at) {
  return std::chrono::floor<std::chrono::days>(
      std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(at.ms)));
}

std::string MonthText(TimePoint at) {
  const auto day = DayOf(at);
  return fmt::format("{:04}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()));
}

std::string DayText(TimePoint at) {
  return fmt::format("{}-{:02}", MonthText(at), static_cast<unsigned>(DayOf(at).day()));
}

template <typename Periods, typename Field>
void WritePeriods(const Periods& periods, Field* out) {
  for (const auto& [name, counts] : periods) {
    v1::HardwarePeriod* const row = out->Add();
    row->set_period(name);
    row->set_gpu_memory_ecc(counts.gpu_ecc);
    row->set_main_memory_ecc(counts.memory_ecc);
    row->set_flash_cuts(counts.flash_cuts);
    row->set_links_down(counts.links_down);
  }
}

void WriteMtbf(std::uint64_t failures, std::int64_t node_ms, v1::TimeBetweenFailures* out) {
  const double node_days = static_cast<double>(node_ms) / kMsPerDay;
  out->set_failures(failures);
  out->set_node_ms(node_ms);
  const FailureRate rate = RateOfFailures(failures, node_days);
  out->set_per_1000_node_days(rate.mean);
  out->set_per_1000_node_days_low(rate.low);
  out->set_per_1000_node_days_high(rate.high);
  const TimeBetween between = TimeBetweenFailures(failures, node_days);
  out->set_node_days(between.mean);
  out->set_node_days_low(between.low);
  out->set_node_days_high(between.high);
}

// One node's failures, those within an hour of the one before taken for one.
struct FailuresOfNode {
  std::uint64_t failures = 0;
  std::map<std::string_view, std::uint64_t> by_class;
  TimePoint last;
  std::string_view last_of;

  void Take(TimePoint at, std::string_view of) {
    const bool same = last && at - last <= kOneFailure;
    last = at;
    if (same) return;
    failures += 1;
    by_class[of] += 1;
    last_of = of;
  }
};

}  // namespace

std::string_view ClassOfXid(std::int64_t code) {
  switch (code) {
    case 13:
    case 31:
    case 43:
    case 45: return "software";
    case 74: return "nvlink";
    case 63:
    case 64:
    case 94:
    case 95: return "memory_ecc";
    case 44:
    case 48:
    case 61:
    case 62:
    case 69:
    case 79: return "uncorrectable";
    case 119: return "gsp";
    default: return "other";
  }
}

std::string_view ClassOfFinding(const core::HistoryFacts& facts) {
  const std::string& check = facts.check;
  if (check == "xid") return ClassOfXid(facts.code);
  if (check == "nvlink_down" || check.starts_with("sxid")) return "nvlink";
  if (check.starts_with("gpu_ecc") || check == "gpu_row_remap_failed" || check == "gpu_retired_pages_pending") {
    return "memory_ecc";
  }
  if (check.starts_with("gpu_")) return "gpu";
  if (IsLinkCheck(check)) return "network";
  if (check.starts_with("memory_")) return "memory";
  if (check == "machine_check" || check == "cpu_throttled") return "machine";
  return check.starts_with("disk_") ? "disk" : "other";
}

Result<HardwareReport> HardwareReport::For(const v1::GetHardwareReportRequest& request, TimePoint now) {
  for (const auto& [field, ms] :
       {std::pair("since_ms", request.since_ms()), std::pair("until_ms", request.until_ms())}) {
    if (ms < 0) return InvalidArgument(field, "is negative", "give milliseconds since 1970, or 0");
  }
  HardwareReport report;
  report.since_ = TimePoint{request.since_ms()};
  // Nothing that has not been is counted as time in which nothing failed.
  report.until_ = request.until_ms() == 0 ? now : std::min(now, TimePoint{request.until_ms()});
  if (report.until_ <= report.since_) {
    return InvalidArgument("until_ms", "is not after since_ms", "give a time that begins before it ends");
  }
  return report;
}

store::HistoryReader::HistoryQuery HardwareReport::query() const {
  return {.since = since_, .limit = kEntriesOfHardware, .hardware = true};
}

bool HardwareReport::Add(const HistoryEntry& entry) {
  if (entry.at > until_) return false;
  switch (entry.kind) {
    case HistoryKind::kHealthEvent:
    case HistoryKind::kHealthCondition: AddFinding(entry); break;
    case HistoryKind::kNodeLost:
      if (!cordoned_[entry.node]) findings_.push_back({entry.node, entry.at, entry.at, "lost", true});
      break;
    case HistoryKind::kNodeRegistered: lives_[entry.node].from = entry.at; break;
    case HistoryKind::kNodeRemoved: lives_[entry.node].to = entry.at; break;
    case HistoryKind::kNodeCordoned: cordoned_[entry.node] = true; break;
    case HistoryKind::kNodeUncordoned: cordoned_[entry.node] = false; break;
    case HistoryKind::kAttemptEnded: AddEnd(entry); break;
    default: break;
  }
  return true;
}

void HardwareReport::AddFinding(const HistoryEntry& entry) {
  const core::HistoryFacts& facts = entry.facts;
  const bool jobs_fault = facts.verdict == core::HealthVerdict::kJobsFault;
  if (entry.kind == HistoryKind::kHealthEvent && facts.check == "xid") {
    Xid& xid = xids_[facts.code];
    xid.count += 1;
    xid.jobs_fault += jobs_fault;
    xid.nodes[entry.node] += 1;
    xid.devices[{entry.node, facts.device}] += 1;
  }
  AddToPeriods(entry);
  // What the node's clock has ahead is not believed.
  const TimePoint found = entry.at - std::max(facts.took, Duration{});
  findings_.push_back({entry.node, entry.at, found, ClassOfFinding(facts), TookOut(facts.verdict)});
  if (entry.job && !jobs_fault) of_attempt_[{entry.job, entry.attempt}].push_back(findings_.size() - 1);
}

void HardwareReport::AddToPeriods(const HistoryEntry& entry) {
  const std::string& check = entry.facts.check;
  const bool event = entry.kind == HistoryKind::kHealthEvent;
  Period counts;
  counts.flash_cuts = event && check == "link_flash";
  counts.links_down = !event && check == "link_down";
  const bool link = counts.flash_cuts + counts.links_down > 0;
  counts.memory_ecc = event && check.starts_with("memory_ecc_");
  counts.gpu_ecc =
      event && (check.starts_with("gpu_ecc_") || (check == "xid" && ClassOfXid(entry.facts.code) == "memory_ecc"));
  if (!link && counts.memory_ecc + counts.gpu_ecc == 0) return;
  const auto add = [&counts](Period& period) {
    period.gpu_ecc += counts.gpu_ecc;
    period.memory_ecc += counts.memory_ecc;
    period.flash_cuts += counts.flash_cuts;
    period.links_down += counts.links_down;
  };
  add(months_[MonthText(entry.at)]);
  if (link) add(days_[DayText(entry.at)]);
}

void HardwareReport::AddEnd(const HistoryEntry& entry) {
  const core::HistoryFacts& facts = entry.facts;
  if (!store::IsHardwareOutcome(facts.outcome)) return;
  End end;
  end.job = entry.job;
  end.attempt = entry.attempt;
  end.outcome = facts.outcome;
  end.ended_at = entry.at;
  end.steps_lost = facts.code;
  end.lost_gpu_ms = facts.value;
  const auto found = of_attempt_.find({entry.job, entry.attempt});
  if (found != of_attempt_.end()) {
    for (const std::size_t place : found->second) {
      Finding& finding = findings_[place];
      if (!Explains(facts.outcome, finding.of)) continue;
      finding.failed = true;
      if (!end.found_at) end.found_at = finding.found;
    }
    of_attempt_.erase(found);
  }
  ends_.push_back(end);
}

void HardwareReport::WriteXids(v1::GetHardwareReportResponse* out) const {
  std::uint64_t all = 0;
  std::vector<std::pair<std::int64_t, const Xid*>> rows;
  for (const auto& [code, xid] : xids_) {
    all += xid.count;
    rows.emplace_back(code, &xid);
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second->count != b.second->count ? a.second->count > b.second->count : a.first < b.first;
  });
  for (const auto& [code, xid] : rows) {
    v1::XidRow* const row = out->add_xids();
    row->set_code(code);
    row->set_kind(std::string(ClassOfXid(code)));
    row->set_count(xid->count);
    row->set_share(static_cast<double>(xid->count) / static_cast<double>(all));
    row->set_nodes(xid->nodes.size());
    row->set_devices(xid->devices.size());
    row->set_jobs_fault(xid->jobs_fault);
  }
}

void HardwareReport::WriteEnds(v1::GetHardwareReportResponse* out) const {
  for (const Outcome outcome : kHardwareEnds) {
    v1::HardwareEnd* const row = out->add_ends();
    row->set_outcome(core::WordOf(outcome));
    std::vector<std::int64_t> detect, recover;
    for (const End& end : ends_) {
      if (end.outcome != outcome) continue;
      row->set_attempts(row->attempts() + 1);
      row->set_lost_gpu_ms(row->lost_gpu_ms() + end.lost_gpu_ms);
      row->set_steps_lost(row->steps_lost() + end.steps_lost);
      if (end.found_at && end.stopped_at) {
        detect.push_back(std::max<std::int64_t>(0, (end.stopped_at - end.found_at).ms));
      }
      if (end.again_at) recover.push_back((end.again_at - end.ended_at).ms);
    }
    row->set_detected(detect.size());
    row->set_recovered(recover.size());
    WriteSpread(detect, row->mutable_detect());
    WriteSpread(recover, row->mutable_recover());
  }
}

std::uint64_t HardwareReport::WriteNodes(const core::Tables& tables, v1::GetHardwareReportResponse* out) const {
  std::map<core::NodeId, FailuresOfNode> nodes;
  for (const Finding& finding : findings_) {
    if (finding.failed) nodes[finding.node].Take(finding.at, finding.of);
  }
  std::vector<std::pair<core::NodeId, const FailuresOfNode*>> rows;
  std::uint64_t all = 0;
  for (const auto& [id, failed] : nodes) {
    all += failed.failures;
    rows.emplace_back(id, &failed);
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    if (a.second->failures != b.second->failures) return a.second->failures > b.second->failures;
    return a.second->last != b.second->last ? a.second->last > b.second->last : a.first < b.first;
  });
  if (rows.size() > kFailingNodesMax) rows.resize(kFailingNodesMax);
  out->set_failing_nodes(nodes.size());
  for (const auto& [id, failed] : rows) {
    v1::FailingNode* const row = out->add_nodes();
    const core::Node* const node = tables.nodes.Find(id);
    row->set_name(node ? node->name : fmt::format("node {}", id.value));
    row->set_state(!node ? "removed" : node->cordon ? "cordoned" : core::WordOf(node->state));
    row->set_failures(failed->failures);
    row->set_last_ms(failed->last.ms);
    row->set_last_kind(std::string(failed->last_of));
    for (const auto& [of, count] : failed->by_class) (*row->mutable_kinds())[std::string(of)] = count;
  }
  return all;
}

// That nodes were registered, within the report's time. A node without an entry of its beginning was there before.
std::int64_t HardwareReport::NodeMs(const core::Tables& tables, TimePoint oldest) const {
  if (!oldest) return 0;
  std::int64_t sum = 0;
  const auto add = [&](const Life& life) {
    const TimePoint from = std::max(oldest, life.from), to = life.to ? std::min(until_, life.to) : until_;
    if (to > from) sum += (to - from).ms;
  };
  tables.nodes.ForEach([&](core::NodeId id, const core::Node& row) {
    const auto life = lives_.find(id);
    if (life != lives_.end()) return add({life->second.from, {}});
    // No entry within the report's time: it was there before, or has come since (its row tells of the number of GPUs
    // that it has had since then, at the least).
    if (row.registered_at < until_) add({});
  });
  for (const auto& [id, life] : lives_) {
    if (tables.nodes.Find(id) == nullptr) add(life);
  }
  return sum;
}

void HardwareReport::WriteTo(const core::Tables& tables, TimePoint oldest, v1::GetHardwareReportResponse* out) {
  out->set_since_ms(oldest.ms);
  out->set_until_ms(until_.ms);
  WriteXids(out);
  WritePeriods(months_, out->mutable_months());
  WritePeriods(days_, out->mutable_days());
  const std::uint64_t failures = WriteNodes(tables, out);
  WriteEnds(out);
  WriteMtbf(failures, NodeMs(tables, oldest), out->mutable_mtbf());
}

}  // namespace glim::server
