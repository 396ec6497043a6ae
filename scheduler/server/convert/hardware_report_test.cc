#include "scheduler/server/convert/hardware_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace glim::server {
namespace {

constexpr std::int64_t kDay = Hours(24).ms;
constexpr TimePoint kYearBegins{1'735'689'600'000};  // 2025-01-01
constexpr TimePoint kYearEnds = kYearBegins + Milliseconds(365 * kDay);

core::HistoryEntry FindingAt(TimePoint at, std::uint32_t node, const std::string& check, std::int64_t code = 0,
                             core::HealthVerdict verdict = core::HealthVerdict::kRecorded) {
  core::HistoryEntry entry;
  entry.at = at;
  entry.kind = core::HistoryKind::kHealthEvent;
  entry.node = core::NodeId(node);
  entry.facts.check = check;
  entry.facts.device = check + "-0";
  entry.facts.code = code;
  entry.facts.verdict = verdict;
  return entry;
}

core::HistoryEntry EntryFor(core::HistoryKind kind, TimePoint at, std::uint32_t node) {
  core::HistoryEntry entry;
  entry.at = at;
  entry.kind = kind;
  entry.node = core::NodeId(node);
  return entry;
}

core::HistoryEntry EndedBy(core::Outcome outcome, TimePoint at, std::uint64_t job, std::int64_t lost_gpu_ms) {
  core::HistoryEntry entry = EntryFor(core::HistoryKind::kAttemptEnded, at, 0);
  entry.job = core::JobId(job);
  entry.attempt = 1;
  entry.facts.outcome = outcome;
  entry.facts.code = 7;
  entry.facts.value = lost_gpu_ms;
  return entry;
}

core::HistoryEntry InJob(core::HistoryEntry entry, std::uint64_t job) {
  entry.job = core::JobId(job);
  entry.attempt = 1;
  return entry;
}

core::Tables NodesSinceTheBeginning(std::uint32_t nodes) {
  core::ClusterState state;
  for (std::uint32_t id = 1; id <= nodes; ++id) {
    core::Node node;
    node.id = core::NodeId(id);
    node.name = "n" + std::to_string(id);
    node.registered_at = TimePoint{1};
    state.Put(std::move(node));
  }
  return state.tables();
}

v1::GetHardwareReportResponse OfAYear(std::vector<core::HistoryEntry> entries, std::uint32_t nodes = 4) {
  v1::GetHardwareReportRequest request;
  request.set_since_ms(kYearBegins.ms);
  auto report = HardwareReport::For(request, kYearEnds);
  EXPECT_TRUE(report.ok()) << report.status().message();
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  for (const core::HistoryEntry& entry : entries) EXPECT_TRUE(report->Add(entry));
  v1::GetHardwareReportResponse response;
  report->WriteTo(NodesSinceTheBeginning(nodes), kYearBegins, &response);
  return response;
}

const v1::HardwareEnd& EndRow(const v1::GetHardwareReportResponse& report, const std::string& outcome) {
  for (const v1::HardwareEnd& end : report.ends()) {
    if (end.outcome() == outcome) return end;
  }
  ADD_FAILURE() << outcome;
  return report.ends(0);
}

// The shares that the text of the Fire-Flyer paper gives (section VII-C1): 42.57 % Xid 74, 33.48 % Xid 43, about 2 %
// the four of memory ECC; the rest is spread over others here.
TEST(HardwareReport, AYearWithThePapersSharesShowsThePapersShares) {
  const std::pair<std::int64_t, int> counts[] = {{74, 4257}, {43, 3348}, {63, 120},  {64, 20},  {94, 50},
                                                 {95, 10},   {13, 900},  {31, 1000}, {79, 200}, {119, 95}};
  std::vector<core::HistoryEntry> entries;
  for (const auto& [code, count] : counts) {
    const bool software = ClassOfXid(code) == "software";
    for (int i = 0; i < count; ++i) {
      const TimePoint at = kYearBegins + Milliseconds(365 * kDay / count * i);
      entries.push_back(FindingAt(at, 1 + static_cast<std::uint32_t>(i % 3), "xid", code,
                                  software ? core::HealthVerdict::kJobsFault : core::HealthVerdict::kRecorded));
    }
  }
  const auto report = OfAYear(entries);
  ASSERT_EQ(report.xids_size(), 10);
  EXPECT_EQ(report.xids(0).code(), 74);
  EXPECT_EQ(report.xids(0).kind(), "nvlink");
  EXPECT_EQ(report.xids(0).count(), 4257u);
  EXPECT_DOUBLE_EQ(report.xids(0).share(), 0.4257);
  EXPECT_EQ(report.xids(0).nodes(), 3u);
  EXPECT_EQ(report.xids(0).devices(), 3u) << "a GPU of the same address is another on another node";
  EXPECT_EQ(report.xids(0).jobs_fault(), 0u);
  EXPECT_EQ(report.xids(1).code(), 43);
  EXPECT_DOUBLE_EQ(report.xids(1).share(), 0.3348);
  EXPECT_EQ(report.xids(1).jobs_fault(), 3348u);
  double ecc = 0, all = 0;
  for (const v1::XidRow& row : report.xids()) {
    if (row.kind() == "memory_ecc") ecc += row.share();
    all += row.share();
  }
  EXPECT_NEAR(ecc, 0.02, 1e-9);
  EXPECT_NEAR(all, 1, 1e-9);
  ASSERT_EQ(report.months_size(), 12);
  std::uint64_t by_month = 0;
  for (const v1::HardwarePeriod& month : report.months()) by_month += month.gpu_memory_ecc();
  EXPECT_EQ(by_month, 200u);
  EXPECT_EQ(report.failing_nodes(), 0u) << "what was only recorded took nobody out";
}

TEST(HardwareReport, MemoryAndLinksAreByMonthAndLinksByDay) {
  const TimePoint feb = kYearBegins + Milliseconds(31 * kDay);
  core::HistoryEntry down = FindingAt(feb + Milliseconds(2 * kDay), 1, "link_down");
  down.kind = core::HistoryKind::kHealthCondition;
  const auto report = OfAYear({FindingAt(feb - Milliseconds(1), 1, "link_flash"), FindingAt(feb, 2, "link_flash"),
                               FindingAt(feb + Milliseconds(kDay - 1), 2, "link_flash"), down,
                               FindingAt(feb, 1, "memory_ecc_corrected"), FindingAt(feb, 1, "gpu_ecc_uncorrected"),
                               FindingAt(feb, 1, "xid", 95), FindingAt(feb, 1, "link_errors")});
  ASSERT_EQ(report.months_size(), 2);
  EXPECT_EQ(report.months(0).period(), "2025-01");
  EXPECT_EQ(report.months(0).flash_cuts(), 1u) << "the last millisecond of the month";
  EXPECT_EQ(report.months(1).period(), "2025-02");
  EXPECT_EQ(report.months(1).flash_cuts(), 2u);
  EXPECT_EQ(report.months(1).links_down(), 1u);
  EXPECT_EQ(report.months(1).main_memory_ecc(), 1u);
  EXPECT_EQ(report.months(1).gpu_memory_ecc(), 2u);
  ASSERT_EQ(report.days_size(), 3);
  EXPECT_EQ(report.days(0).period(), "2025-01-31");
  EXPECT_EQ(report.days(1).flash_cuts(), 2u);
  EXPECT_EQ(report.days(2).period(), "2025-02-03");
}

TEST(HardwareReport, WhatFollowsWithinAnHourIsTheSameFailure) {
  const auto out = core::HealthVerdict::kOut;
  const TimePoint at = kYearBegins + Milliseconds(kDay);
  std::vector<core::HistoryEntry> entries = {
      FindingAt(at, 2, "xid", 79, out), FindingAt(at + Seconds(1), 2, "gpu_lost", 0, out),
      EntryFor(core::HistoryKind::kNodeLost, at + Minutes(50), 2),
      FindingAt(at + Hours(30), 2, "disk_error", 0, core::HealthVerdict::kDrained)};
  // An operator takes a node out and reboots it: nothing has failed.
  entries.push_back(EntryFor(core::HistoryKind::kNodeCordoned, at, 3));
  entries.push_back(EntryFor(core::HistoryKind::kNodeLost, at + Hours(1), 3));
  entries.push_back(EntryFor(core::HistoryKind::kNodeUncordoned, at + Hours(2), 3));
  entries.push_back(EntryFor(core::HistoryKind::kNodeLost, at + Hours(3), 3));
  const auto report = OfAYear(entries);
  ASSERT_EQ(report.nodes_size(), 2);
  EXPECT_EQ(report.nodes(0).name(), "n2");
  EXPECT_EQ(report.nodes(0).failures(), 2u);
  EXPECT_EQ(report.nodes(0).kinds().at("uncorrectable"), 1u);
  EXPECT_EQ(report.nodes(0).kinds().at("disk"), 1u);
  EXPECT_EQ(report.nodes(0).last_kind(), "disk");
  EXPECT_EQ(report.nodes(1).kinds().at("lost"), 1u);
  EXPECT_EQ(report.mtbf().failures(), 3u);
  EXPECT_EQ(report.mtbf().node_ms(), 4 * 365 * kDay);
  EXPECT_NEAR(report.mtbf().node_days(), 4 * 365 / 3.0, 1e-9);
  EXPECT_LT(report.mtbf().node_days_low(), report.mtbf().node_days());
  EXPECT_GT(report.mtbf().node_days_high(), report.mtbf().node_days());
}

TEST(HardwareReport, AnAttemptsEndIsPutDownToWhatExplainsIt) {
  const TimePoint at = kYearBegins + Milliseconds(kDay);
  core::HistoryEntry flash = InJob(FindingAt(at, 1, "link_flash"), 8);
  flash.facts.took = Seconds(2);
  const auto ending = core::HealthVerdict::kRestarted;
  const auto report =
      OfAYear({flash, EndedBy(core::Outcome::kNetwork, at + Seconds(5), 8, 3'600'000),
               InJob(FindingAt(at + Hours(5), 2, "xid", 43, core::HealthVerdict::kJobsFault), 9),
               InJob(FindingAt(at + Hours(5), 3, "xid", 74, ending), 9),
               EndedBy(core::Outcome::kGpuFailure, at + Hours(6), 9, 1'800'000),
               EndedBy(core::Outcome::kFailed, at + Hours(7), 10, 5), EndedBy(core::Outcome::kHang, at, 11, 1)});
  ASSERT_EQ(report.nodes_size(), 2) << "a cut that was only recorded counts, for it ended an attempt";
  EXPECT_EQ(report.nodes(0).name(), "n3");
  EXPECT_EQ(report.nodes(1).name(), "n1");
  EXPECT_EQ(EndRow(report, "network").attempts(), 1u);
  EXPECT_EQ(EndRow(report, "network").lost_gpu_ms(), 3'600'000);
  EXPECT_EQ(EndRow(report, "network").steps_lost(), 7);
  EXPECT_EQ(EndRow(report, "gpu_failure").lost_gpu_ms(), 1'800'000);
  EXPECT_EQ(EndRow(report, "hang").attempts(), 1u);
  EXPECT_EQ(EndRow(report, "out_of_memory").attempts(), 0u);
  EXPECT_EQ(EndRow(report, "network").detected(), 0u) << "nobody looked up when it was stopped";
}

TEST(HardwareReport, TimesRunFromTheNodesClockToTheStopAndFromTheEndToTheNextRun) {
  auto report = HardwareReport::For({}, kYearEnds);
  ASSERT_TRUE(report.ok());
  core::HistoryEntry xid = InJob(FindingAt(kYearBegins, 1, "xid", 79, core::HealthVerdict::kOut), 8);
  xid.facts.took = Milliseconds(300);
  report->Add(xid);
  report->Add(EndedBy(core::Outcome::kGpuFailure, kYearBegins + Seconds(1), 8, 0));
  ASSERT_EQ(report->ends().size(), 1u);
  report->ends()[0].stopped_at = kYearBegins + Milliseconds(100);
  report->ends()[0].again_at = kYearBegins + Seconds(31);
  v1::GetHardwareReportResponse response;
  report->WriteTo(NodesSinceTheBeginning(1), kYearBegins, &response);
  EXPECT_EQ(EndRow(response, "gpu_failure").detect().p50_ms(), 400);
  EXPECT_EQ(EndRow(response, "gpu_failure").recover().p99_ms(), 30'000);
}

TEST(HardwareReport, TimeCountsWhileANodeIsThere) {
  const TimePoint middle = kYearBegins + Milliseconds(100 * kDay);
  // Node 1 was there before; node 2 came; node 9 came, and went.
  const auto report = OfAYear(
      {EntryFor(core::HistoryKind::kNodeRegistered, middle, 2), EntryFor(core::HistoryKind::kNodeRegistered, middle, 9),
       EntryFor(core::HistoryKind::kNodeRemoved, middle + Milliseconds(10 * kDay), 9)},
      2);
  EXPECT_EQ(report.mtbf().node_ms(), (365 + 265 + 10) * kDay);
  EXPECT_EQ(report.mtbf().failures(), 0u);
  EXPECT_EQ(report.mtbf().node_days(), 0) << "not known";
  EXPECT_NEAR(report.mtbf().node_days_low(), 640 / 3.6889, 0.01) << "but it is at least so long";
}

TEST(HardwareReport, WhatCannotBeIsRefusedByItsField) {
  v1::GetHardwareReportRequest request;
  request.set_since_ms(-1);
  EXPECT_EQ(HardwareReport::For(request, kYearEnds).status().field(), "since_ms");
  request.set_since_ms(kYearEnds.ms);
  EXPECT_EQ(HardwareReport::For(request, kYearEnds).status().field(), "until_ms");
}

TEST(HardwareReport, TableVOfThePaperIsTheClasses) {
  const std::pair<std::string_view, std::vector<std::int64_t>> rows[] = {{"software", {13, 31, 43, 45}},
                                                                         {"nvlink", {74}},
                                                                         {"memory_ecc", {63, 64, 94, 95}},
                                                                         {"uncorrectable", {44, 48, 61, 62, 69, 79}},
                                                                         {"gsp", {119}},
                                                                         {"other", {0, 8, 120}}};
  for (const auto& [kind, codes] : rows) {
    for (const std::int64_t code : codes) EXPECT_EQ(ClassOfXid(code), kind) << code;
  }
}

TEST(HardwareReport, AnErrorOfAnNvswitchIsOneOfNvlink) {
  for (const char* check : {"sxid", "sxid_fatal", "nvlink_down"}) {
    EXPECT_EQ(ClassOfFinding({.check = check}), "nvlink") << check;
  }
}

}  // namespace
}  // namespace glim::server
