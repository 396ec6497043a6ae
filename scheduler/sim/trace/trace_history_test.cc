// A cluster's own history: its own nodes and classes, and days that are drawn.
#include "scheduler/sim/trace/trace_history.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "scheduler/sim/trace/trace_command.h"

namespace glim::sim {
namespace {

constexpr char kHistoryNodes[] = "name,pool,zone,leaf,gpus\na1,a100,A,l1,8\na2,a100,A,l1,8\ncpu1,cpu,A,l2,0\n";
constexpr char kHistoryHeader[] = "job_id,user,submit_s,duration_s,nodes,team,pool,class,gpus_per_node,counted\n";

std::vector<TraceJob> HistoryJobs(const std::string& lines) {
  auto trace = ParseTrace(kHistoryHeader + lines);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? std::move(trace).value() : std::vector<TraceJob>{};
}

TraceOutcome PlayHistory(const std::string& lines) {
  TraceOptions options;
  options.cluster = *ParseNodes(kHistoryNodes);
  options.nodes = static_cast<std::uint32_t>(options.cluster.size());
  options.policy.enforce_time_limits = false;
  options.check_every = 1;
  TraceOutcome outcome = TraceWorld(options, HistoryJobs(lines)).Run();
  EXPECT_EQ(outcome.violations, 0u) << outcome.violation_texts.front();
  return outcome;
}

TEST(TraceHistory, JobsRunInTheirPoolsAndWaitByClass) {
  const TraceOutcome outcome = PlayHistory(
      "1,kim,0,100,2,,a100,high,8,1\n"
      "2,kim,0,100,1,,cpu,normal,0,1\n"
      "3,lee,10,100,1,vision,a100,normal,8,1\n");
  const auto figures = HistoryFiguresOf(outcome, 3);
  EXPECT_EQ(figures["classes"]["all"]["jobs"], 3);
  EXPECT_EQ(figures["classes"]["high"]["wait_p50_s"], 0);
  EXPECT_EQ(figures["classes"]["normal"]["jobs"], 2);
  EXPECT_EQ(figures["classes"]["normal"]["wait_p50_s"], 0) << "the pool cpu was free";
  EXPECT_EQ(figures["classes"]["normal"]["wait_p99_s"], 90) << "both nodes of a100 were taken for 100 s";
  EXPECT_EQ(figures["makespan_s"], 200);
  EXPECT_EQ(figures["utilisation"], 0.666667) << "200 + 100 + 100 of 600 node-seconds";
  EXPECT_EQ(figures["interrupts"], 0);
  EXPECT_EQ(figures["goodput"], 1);
}

TEST(TraceHistory, LoadIsPlayedAndCountedNowhere) {
  const TraceOutcome outcome = PlayHistory(
      "old,kim,0,50,2,,a100,normal,8,0\n"
      "1,kim,0,100,2,,a100,normal,8,1\n");
  const auto classes = ClassFiguresOf(outcome);
  EXPECT_EQ(classes["all"]["jobs"], 1);
  EXPECT_EQ(classes["all"]["wait_p50_s"], 50);
}

TEST(TraceHistory, WhatTheClusterCannotRunIsCountedAsRefused) {
  const TraceOutcome outcome = PlayHistory("1,kim,0,100,3,,a100,normal,8,1\n2,kim,0,100,1,,h100,normal,8,1\n");
  EXPECT_EQ(outcome.refused, 2u);
}

// A day has its jobs together, at the same times of the day; the load of the first moment stays.
TEST(TraceHistory, WholeDaysAreDrawnWithReplacement) {
  const auto trace = HistoryJobs(
      "old,kim,0,50,1,,a100,normal,8,0\n"
      "d0a,kim,10,1,1,,a100,normal,8,1\nd0b,kim,20,1,1,,a100,normal,8,1\n"
      "d1,kim,86410,1,1,,a100,normal,8,1\n"
      "d2,kim,172900,1,1,,a100,normal,8,1\n");
  std::map<std::string, int> drawn_days;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const auto drawn = DrawDays(trace, 3, seed);
    ASSERT_EQ(drawn, DrawDays(trace, 3, seed)) << "the same seed draws the same days";
    EXPECT_EQ(drawn.front().name, "old");
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end(),
                               [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; }));
    std::map<std::string, int> names;
    for (const TraceJob& job : drawn) {
      ++names[job.name];
      if (job.name == "d0a") {
        EXPECT_EQ(job.submit.ms % Hours(24).ms, 10'000);
      }
    }
    EXPECT_EQ(names["old"], 1);
    EXPECT_EQ(names["d0a"], names["d0b"]) << "a day stays together";
    EXPECT_EQ(names["d0a"] + names["d1"] + names["d2"], 3);
    for (const auto& [name, times] : names) drawn_days[name + std::to_string(times)] += 1;
  }
  EXPECT_GT(drawn_days["d12"] + drawn_days["d13"], 0) << "a day may come more than once";
}

TEST(TraceHistory, WhatIsWrongInTheFilesIsRefusedByLineAndColumn) {
  const auto said = [](const auto& result) { return result.ok() ? std::string() : result.status().message(); };
  EXPECT_EQ(said(ParseNodes("name,pool,zone,leaf\n")), "line 1, column gpus: is missing");
  EXPECT_EQ(said(ParseNodes("name,pool,zone,leaf,gpus\nn1,a,A,l,x\n")), "line 2, column gpus: 'x' is not a number");
  EXPECT_EQ(said(ParseNodes("name,pool,zone,leaf,gpus\nn 1,a,A,l,8\n")), "line 2, column name: is no name");
  EXPECT_EQ(said(ParseNodes("name,pool,zone,leaf,gpus\n")), "line 1: there is no node in it");
  const std::string job = std::string(kHistoryHeader) + "1,kim,0,100,1,,a100,hgh,8,1\n";
  EXPECT_EQ(said(ParseTrace(job)), "line 2, column class: is no priority class");
}

// Quotas as rows, in place of the policy's.
TEST(TraceHistory, QuotasOfTheClusterHold) {
  TraceOptions options;
  options.cluster = *ParseNodes(kHistoryNodes);
  options.nodes = 3;
  options.policy.enforce_time_limits = false;
  options.policy.user_quota["kim"].nodes[core::PriorityClass::kNormal] = 0;  // and does not count
  auto quotas = ParseQuotas("of,subject,pool,class,nodes\nteam_weight,vision,,,200\nuser,kim,a100,high,0\n");
  ASSERT_TRUE(quotas.ok()) << quotas.status().message();
  options.quotas = *quotas;
  const TraceOutcome outcome =
      TraceWorld(options, HistoryJobs("1,kim,0,100,1,,a100,high,8,1\n2,kim,0,100,1,,a100,normal,8,1\n")).Run();
  EXPECT_EQ(outcome.refused, 1u) << "class high is not allowed, class normal is";
  EXPECT_EQ(ParseQuotas("of,subject,pool,class,nodes\nuse,kim,,high,1\n").status().message(),
            "line 2, column of: is nobody who has a quota");
}

// The command itself: the same seed gives the same bytes, and a number of drawn histories as it was asked for.
TEST(TraceHistory, TheCommandPlaysDrawnDays) {
  const std::string base = testing::TempDir() + "/history-" + std::to_string(::getpid());
  std::ofstream(base + ".nodes") << kHistoryNodes;
  std::ofstream(base + ".jobs") << kHistoryHeader
                                << "1,kim,0,100,2,,a100,high,8,1\n2,kim,86450,100,2,,a100,normal,8,1\n";
  const auto run = [&](const std::string& seed) {
    std::vector<std::string> words = {"glim-sim", "--trace", base + ".jobs", "--cluster", base + ".nodes",
                                      "--days",   "2",       "--resamples",  "5",         "--seed",
                                      seed,       "--json",  "--no-wall"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    testing::internal::CaptureStdout();
    EXPECT_EQ(RunTraceCommand(static_cast<int>(argv.size()), argv.data()), 0);
    return testing::internal::GetCapturedStdout();
  };
  const std::string first = run("1");
  EXPECT_EQ(first, run("1"));
  const auto figures = nlohmann::json::parse(first);
  EXPECT_EQ(figures["history"]["classes"]["all"]["jobs"], 2);
  ASSERT_EQ(figures["resampled"].size(), 5u);
  EXPECT_EQ(figures["resampled"][0]["classes"]["all"]["jobs"], 2) << "one job a day";
  std::remove((base + ".nodes").c_str());
  std::remove((base + ".jobs").c_str());
}

}  // namespace
}  // namespace glim::sim
