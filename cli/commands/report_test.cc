// glim admin report over the history, glim admin config check, and the filters of the lists: what is asked, what is
// shown, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "cli/testing/cli_fixture.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void FillHardwareReport(glim::v1::GetHardwareReportResponse* report) {
  report->set_since_ms(1'763'640'547'125);
  report->set_until_ms(1'763'640'600'000);
  auto* xid = report->add_xids();
  xid->set_code(74);
  xid->set_kind("nvlink");
  xid->set_count(4257);
  xid->set_share(0.4257);
  xid->set_nodes(30);
  xid->set_devices(41);
  auto* month = report->add_months();
  month->set_period("2025-11");
  month->set_gpu_memory_ecc(20);
  month->set_main_memory_ecc(3);
  month->set_flash_cuts(9);
  month->set_links_down(1);
  auto* node = report->add_nodes();
  node->set_name("n7");
  node->set_state("cordoned");
  node->set_failures(3);
  node->set_last_ms(1'763'640'600'000);
  (*node->mutable_kinds())["nvlink"] = 1;
  (*node->mutable_kinds())["disk"] = 2;
  auto* end = report->add_ends();
  end->set_outcome("gpu_failure");
  end->set_attempts(5);
  end->set_lost_gpu_ms(5'400'000);
  end->set_steps_lost(12);
  end->set_detected(5);
  end->mutable_detect()->set_p50_ms(400);
  end->mutable_detect()->set_p99_ms(1'500);
  report->mutable_mtbf()->set_failures(10);
  report->mutable_mtbf()->set_node_ms(5000 * Hours(24).ms);
  report->mutable_mtbf()->set_per_1000_node_days(2);
  report->mutable_mtbf()->set_per_1000_node_days_low(0.959);
  report->mutable_mtbf()->set_per_1000_node_days_high(3.678);
  report->mutable_mtbf()->set_node_days(500);
  report->mutable_mtbf()->set_node_days_low(271.9);
  report->mutable_mtbf()->set_node_days_high(1042.7);
}

class ReportTest : public CliTest {
 protected:
  void AddRow(const std::string& name, std::uint64_t jobs, std::uint64_t failed, std::int64_t productive,
              std::int64_t lost) {
    const auto state = server_.Lock();
    glim::v1::GetHistoryReportResponse& report = state->history_report;
    report.set_since_ms(1'763'640'547'125);
    report.set_until_ms(1'763'640'600'000);
    for (auto* row : {report.add_rows(), report.mutable_total()}) {
      row->set_jobs(row->jobs() + jobs);
      row->set_failed(row->failed() + failed);
      row->set_succeeded(row->succeeded() + jobs - failed);
      row->set_productive_gpu_ms(row->productive_gpu_ms() + productive);
      row->set_lost_gpu_ms(row->lost_gpu_ms() + lost);
      row->set_gpu_ms(row->gpu_ms() + productive + lost);
      row->set_price(row->price() + 12.5);
      row->set_steps_lost(row->steps_lost() + 7);
      row->mutable_wait()->set_mean_ms(61'000);
      row->mutable_wait()->set_p50_ms(500);
      row->mutable_wait()->set_p99_ms(7'200'000);
      if (failed > 0) (*row->mutable_failures())["exit 1"] += failed;
    }
    report.mutable_rows(report.rows_size() - 1)->set_name(name);
  }
  void AddTwo() {
    server_.Lock()->history_report.set_by("team");
    AddRow("nlp", 10, 3, 36'000'000, 3'600'000);
    AddRow("", 2, 0, 1'800'000, 0);
  }
};

TEST_F(ReportTest, CsvAndJsonExcludeEachOther) {
  AddTwo();
  for (const char* report : {"usage", "storage", "ledger"}) {
    for (const std::vector<std::string>& format : {std::vector<std::string>{"-o", "json"}, {"--json"}}) {
      std::vector<std::string> words = {"admin", "report", report, "--format", "csv"};
      words.insert(words.end(), format.begin(), format.end());
      const GlimResult both = Glim(words);
      EXPECT_EQ(both.exit_code, 2) << report;
      EXPECT_EQ(both.out, "");
      EXPECT_THAT(both.err, HasSubstr("exclude each other"));
    }
  }
  EXPECT_EQ(Glim({"admin", "report", "usage", "--format", "csv"}).exit_code, 0);
}

TEST_F(ReportTest, WhatStillRunsIsApartFromWhatHasEnded) {
  AddTwo();
  const GlimResult result = Glim({"admin", "report", "usage", "--by", "team", "--running"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nlp"));
  EXPECT_THAT(result.err, HasSubstr("12 jobs that have not ended"));
  {
    const auto state = server_.Lock();
    ASSERT_EQ(state->report_requests.size(), 1u);
    EXPECT_TRUE(state->report_requests[0].running());
    EXPECT_EQ(state->report_requests[0].since_ms(), 0);
  }
  EXPECT_EQ(Glim({"admin", "report", "usage", "--running", "--since", "1d"}).exit_code, 2);
  EXPECT_EQ(Glim({"admin", "report", "failures", "--running"}).exit_code, 2);
  EXPECT_EQ(Glim({"admin", "report", "--running"}).exit_code, 2) << "the ledger has all of it";
}

TEST_F(ReportTest, StorageIsByUserAndSaysWhatIsNotInIt) {
  {
    const auto state = server_.Lock();
    glim::v1::GetStorageReportResponse& report = state->storage;
    report.set_by("user");
    report.set_nodes_told(3);
    report.set_nodes_silent(1);
    report.set_oldest_look_ms(1'763'640'547'125);
    for (auto* row : {report.add_rows(), report.mutable_total()}) {
      row->set_jobs(4);
      row->set_ended_jobs(3);
      row->set_saves(12);
      row->set_bytes(std::int64_t{5} << 30);
      row->set_shared_bytes(std::int64_t{1} << 30);
    }
    report.mutable_rows(0)->set_name("kim");
  }
  GlimResult result = Glim({"admin", "report", "storage", "--team", "nlp"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("USER"));
  EXPECT_THAT(result.out, HasSubstr("5.0 GiB"));
  EXPECT_THAT(result.err, HasSubstr("of 4 nodes' own folders 3, the checkpoint root is not in it"));
  EXPECT_EQ(server_.Lock()->storage_requests[0].by(), "user");
  EXPECT_EQ(server_.Lock()->storage_requests[0].team(), "nlp");
  result = Glim({"admin", "report", "storage", "--format", "csv"});
  EXPECT_EQ(result.out, "user,jobs,ended_jobs,saves,bytes,shared_bytes\nkim,4,3,12,5368709120,1073741824\n");
  EXPECT_EQ(Glim({"admin", "report", "storage", "--since", "1d"}).exit_code, 2);
}

TEST_F(ReportTest, HardwareIsWhatFailedAndHowOften) {
  FillHardwareReport(&server_.Lock()->hardware);
  GlimResult result = Glim({"admin", "report", "hardware"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "XID  KIND    COUNT    SHARE  NODES  GPUS  PROGRAM'S FAULT\n"
            " 74  NVLink   4257  42.57 %     30    41                0\n"
            "\n"
            "MONTH    GPU MEMORY ECC  MAIN MEMORY ECC  FLASH CUTS  LINKS DOWN\n"
            "2025-11              20                3           9           1\n"
            "\n"
            "NODE  STATE     FAILURES  LAST                      WHAT\n"
            "n7    cordoned         3  2025-11-20T12:10:00.000Z  disk: 2, NVLink: 1\n"
            "\n"
            "ENDED BY     ATTEMPTS  LOST GPU-HOURS  STEPS LOST  DETECT P50    P99  RECOVER P50  P99\n"
            "gpu_failure         5            1.50          12      400 ms  1.5 s            -    -\n");
  EXPECT_THAT(result.err, HasSubstr("10 failures in 5000.0 node-days from 2025-11-20T12:09:07.125Z"));
  EXPECT_THAT(result.err, HasSubstr("2.00 a day in a thousand nodes (95 %: 0.96 to 3.68), a node fails once in 500.0 "
                                    "days (271.9 to 1042.7)"));
  result = Glim({"admin", "report", "hardware", "--format", "csv", "--since", "2025-01-01", "--until", "2026-01-01"});
  EXPECT_THAT(result.out, HasSubstr("table,row,figure,value\nxid,74,kind,nvlink\nxid,74,count,4257\n"));
  EXPECT_THAT(result.out, HasSubstr("node,n7,what,\"disk: 2, NVLink: 1\"\n"));
  EXPECT_EQ(json::parse(Glim({"admin", "report", "hardware", "--json"}).out)["report"]["xids"][0]["code"], 74);
  EXPECT_EQ(server_.Lock()->hardware_requests.at(1).since_ms(), 1'735'689'600'000);
  EXPECT_EQ(server_.Lock()->hardware_requests.at(1).until_ms(), 1'767'225'600'000);
  for (const char* option : {"--by", "--pool", "--team", "--user"}) {
    EXPECT_EQ(Glim({"admin", "report", "hardware", option, "team"}).exit_code, 2) << option;
  }
  // Nothing has failed: so long at least.
  server_.Lock()->hardware.mutable_mtbf()->set_failures(0);
  EXPECT_THAT(Glim({"admin", "report", "hardware"}).err, HasSubstr("a node fails once in at least 271.9 days (95 %)"));
}

TEST_F(ReportTest, UsageIsATableWithItsSum) {
  AddTwo();
  server_.Lock()->history_report.set_price_unit("credits");
  const GlimResult result = Glim({"admin", "report", "usage", "--by", "team"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "TEAM       JOBS  GPU-HOURS  PRODUCTIVE  LOST  PRICE (credits)\n"
            "nlp          10      11.00       10.00  1.00            12.50\n"
            "(no team)     2       0.50        0.50     0            12.50\n"
            "all          12      11.50       10.50  1.00            25.00\n");
  EXPECT_EQ(result.err, "12 jobs that ended from 2025-11-20T12:09:07.125Z to 2025-11-20T12:10:00.000Z\n");
  EXPECT_EQ(server_.Lock()->report_requests.at(0).by(), "team");
}

TEST_F(ReportTest, GoodputWaitsAndFailuresSayWhatTheyAreNamedAfter) {
  AddTwo();
  EXPECT_THAT(Glim({"admin", "report", "goodput"}).out, HasSubstr("nlp            11.00      90.9 %  9.1 %"));
  const std::string waits = Glim({"admin", "report", "waits"}).out;
  EXPECT_THAT(waits, HasSubstr("WAIT MEAN     P50"));
  EXPECT_THAT(waits, HasSubstr("1 min 1 s  500 ms"));
  const std::string failures = Glim({"admin", "report", "failures"}).out;
  EXPECT_THAT(failures, HasSubstr("30.0 %  exit 1: 3\n"));
  EXPECT_THAT(failures, HasSubstr("all          12"));
}

TEST_F(ReportTest, CsvIsForSpreadsheetsAndJsonForPrograms) {
  AddTwo();
  EXPECT_EQ(Glim({"admin", "report", "usage", "--format", "csv"}).out,
            "team,jobs,gpu_ms,productive_gpu_ms,lost_gpu_ms\n"
            "nlp,10,39600000,36000000,3600000\n"
            ",2,1800000,1800000,0\n");
  {
    const auto state = server_.Lock();
    state->history_report.set_by("job");
    state->history_report.mutable_rows(0)->set_job_name("a, \"b\"");
    state->history_report.mutable_rows(0)->set_user("kim");
  }
  EXPECT_THAT(Glim({"admin", "report", "failures", "--by", "job", "--format", "csv"}).out,
              HasSubstr("job,name,user,jobs,succeeded,cancelled,failed,failed_share,why\n"
                        "nlp,\"a, \"\"b\"\"\",kim,10,7,0,3,0.3000,exit 1: 3\n"));
  const json document = json::parse(Glim({"admin", "report", "usage", "--format", "json"}).out);
  EXPECT_EQ(document["report"]["rows"][0]["jobs"], 10);
  EXPECT_EQ(json::parse(Glim({"admin", "report", "usage", "-o", "json"}).out), document);
}

TEST_F(ReportTest, TheTimeIsAskedForByAgeOrByMoment) {
  EXPECT_THAT(Glim({"admin", "report", "usage", "--since", "2026-02-28", "--until", "2026-03-01T06:30Z", "--pool", "a",
                    "--team", "t", "--user", "u"})
                  .err,
              HasSubstr("no job ended in that time"));
  {
    const auto state = server_.Lock();
    const auto& request = state->report_requests.at(0);
    EXPECT_EQ(request.since_ms(), 1'772'236'800'000);
    EXPECT_EQ(request.until_ms(), 1'772'346'600'000);
    EXPECT_EQ(request.pool() + request.team() + request.user(), "atu");
  }
  Glim({"admin", "report", "waits"});
  Glim({"admin", "report", "waits", "--since", "1h"});
  const auto state = server_.Lock();
  const std::int64_t month = state->report_requests.at(1).since_ms(), hour = state->report_requests.at(2).since_ms();
  EXPECT_NEAR(static_cast<double>(hour - month), 719.0 * 3'600'000, 600'000) << "thirty days are the default";
  EXPECT_EQ(state->report_requests.at(1).until_ms(), 0) << "now";
}

TEST_F(ReportTest, WhatIsNoReportIsAUsageError) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"usge"}, "did you mean 'usage'?"},
      {{"usage", "--format", "xml"}, "use one of table, csv, json"},
      {{"usage", "--since", "2026-02-30"}, "write it like 7d, 2026-11-01 or 2026-11-01T08:30Z"},
      {{"usage", "--until", "yesterday"}, "write it like 7d"},
      {{"--since", "7d"}, "glim admin report usage"},
      {{"ledger", "--format", "csv"}, "glim admin report usage"},
  };
  for (const auto& [words, fix] : cases) {
    std::vector<std::string> line = {"admin", "report"};
    line.insert(line.end(), words.begin(), words.end());
    const GlimResult result = Glim(line);
    EXPECT_EQ(result.exit_code, 2) << words[0];
    EXPECT_THAT(result.err, HasSubstr(fix)) << words[0];
  }
  EXPECT_THAT(server_.Lock()->report_requests, IsEmpty());
  Refuse(Refusal(grpc::StatusCode::INVALID_ARGUMENT, "by: 'pol' is nothing to report by", "", "by", "use pool"));
  EXPECT_EQ(Glim({"admin", "report", "usage", "--by", "pol"}).exit_code, 2);
  EXPECT_THAT(Glim({"admin", "report", "--help"}).out, HasSubstr("glim admin report usage --by team --since 30d"));
}

TEST_F(ReportTest, TheFiltersOfTheListsAreAskedOfTheScheduler) {
  EXPECT_EQ(Glim({"queue", "--state", "running,held", "--pool", "a100", "--team", "nlp", "--user", "kim", "--priority",
                  "high", "--name", "7b"})
                .err,
            "no such jobs\n");
  EXPECT_EQ(Glim({"queue", "--state", ","}).exit_code, 2);
  Glim({"history", "--pool", "a100", "--team", "nlp", "--user", "kim", "--priority", "high", "--name", "7b"});
  const auto state = server_.Lock();
  const auto& jobs = state->list_jobs_requests.at(0);
  EXPECT_THAT(jobs.states(), ElementsAre("running", "held"));
  EXPECT_EQ(jobs.pool() + jobs.team() + jobs.user() + jobs.priority() + jobs.name(), "a100nlpkimhigh7b");
  const auto& ended = state->history_requests.at(0);
  EXPECT_EQ(ended.pool() + ended.team() + ended.user() + ended.priority() + ended.name(), "a100nlpkimhigh7b");
}

TEST_F(ReportTest, APolicyFileIsCheckedWithoutAScheduler) {
  const std::string path = testing::TempDir() + "/check-policy-" + std::to_string(::getpid()) + ".yaml";
  const auto check = [&](const std::string& text) {
    std::ofstream(path) << text;
    return Glim({"admin", "config", "check", path});
  };
  Refuse(Refusal(grpc::StatusCode::UNAVAILABLE, "nobody is asked"));
  const GlimResult good = check("quantum_min: 5m\nprice: {unit: credits, per_gpu_hour: {default: 1}}\n");
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(good.err, path + " is a policy: it says otherwise than without a file for 2 keys\n");
  const GlimResult bad = check("quantum_min: 5m\nquantm_max: 3h\n");
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr(path + ":2:1: quantm_max: "));
  EXPECT_THAT(bad.err, HasSubstr("did you mean 'quantum_max'?"));
  EXPECT_EQ(Glim({"admin", "config", "check", path + ".none"}).exit_code, 2);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace glim::cli
