// The trace mode: small traces of which every figure is known.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "scheduler/sim/trace/trace_command.h"
#include "scheduler/sim/trace/trace_figures.h"
#include "scheduler/sim/trace/trace_world.h"

namespace glim::sim {
namespace {

constexpr char kHeader[] = "job_id,user,submit_s,duration_s,gpus,nodes,walltime_s,state\n";

std::vector<TraceJob> Trace(const std::string& lines) {
  auto trace = ParseTrace(kHeader + lines);
  EXPECT_TRUE(trace.ok()) << trace.status().message();
  return trace.ok() ? std::move(trace).value() : std::vector<TraceJob>{};
}

TraceOptions Options(std::uint32_t nodes, core::PlannerKind planner = core::PlannerKind::kFifo) {
  TraceOptions options;
  options.nodes = nodes;
  options.planner = planner;
  options.policy.enforce_time_limits = false;
  options.exact_limits = planner == core::PlannerKind::kEasy;
  options.check_every = 1;
  return options;
}

TraceOutcome Play(const TraceOptions& options, const std::string& lines) {
  TraceOutcome outcome = TraceWorld(options, Trace(lines)).Run();
  EXPECT_EQ(outcome.violations, 0u) << outcome.violation_texts.front();
  return outcome;
}

// By the order of the trace, in seconds after its beginning.
std::vector<std::int64_t> Ends(const TraceOutcome& outcome) {
  std::vector<std::int64_t> ends;
  for (const TracedJob& job : outcome.jobs) {
    ends.push_back(job.ended ? (job.ended - outcome.first_submit).ms / 1000 : -1);
  }
  return ends;
}
using Times = std::vector<std::int64_t>;

// Some hours of jobs of all sizes on few nodes, always the same.
std::string Generated(int jobs, std::uint32_t nodes) {
  Rng rng(7);
  std::string lines;
  std::int64_t at = 0;
  for (int i = 0; i < jobs; ++i) {
    at += rng.Between(0, 400);
    const std::int64_t duration = rng.OneIn(4) ? rng.Between(3000, 30'000) : rng.Between(10, 900);
    const std::int64_t wide = rng.OneIn(3) ? rng.Between(1, nodes) : 1;
    lines += std::to_string(i) + ",u" + std::to_string(rng.Between(1, 4)) + "," + std::to_string(at) + "," +
             std::to_string(duration) + ",," + std::to_string(wide) + "," + std::to_string(duration * 2) + ",\n";
  }
  return lines;
}

// --- figures

TEST(TraceFigures, PercentilesAreOfTheNearestRank) {
  std::vector<double> thousand;
  for (int i = 1000; i >= 1; --i) thousand.push_back(i);
  EXPECT_EQ(Percentile(thousand, 0.5), 500);
  EXPECT_EQ(Percentile(thousand, 0.999), 999);
  EXPECT_EQ(Percentile(thousand, 1), 1000);
  std::vector<double> three = {30, 10, 20}, none;
  EXPECT_EQ(Percentile(three, 0.5), 20);
  EXPECT_EQ(Percentile(three, 0.01), 10);
  EXPECT_EQ(Percentile(none, 0.5), 0);
}

// Two nodes; a: both for 1,000 s; b: one for 300 s; c: one for 2,000 s, submitted at 100 s.
constexpr char kThree[] = "a,,0,1000,16,2,,\nb,,0,300,8,1,,\nc,,100,2000,8,1,,\nlarge,,100,9,24,3,,\n";

TEST(TraceFigures, AreWhatTheTraceSays) {
  const TraceOutcome outcome = Play(Options(2), kThree);
  EXPECT_EQ(Ends(outcome), (Times{1000, 1300, 3000, -1}));
  const auto json = FiguresOf(outcome, 2, 1.5);
  EXPECT_EQ(json["jobs"], 3);
  EXPECT_EQ(json["refused"], 1) << "three nodes are more than there are";
  EXPECT_NEAR(json["queue_mean_s"], (0 + 1000 + 900) / 3.0, 0.001);
  EXPECT_NEAR(json["jct_mean_s"], (1000 + 1300 + 2900) / 3.0, 0.001);
  EXPECT_EQ(json["queue_p50_s"], 900);
  EXPECT_EQ(json["queue_p999_s"], 1000);
  EXPECT_NEAR(json["slowdown_mean"], (1 + 1300 / 600.0 + 2900 / 2000.0) / 3, 1e-6);
  EXPECT_EQ(json["wait_max_s"], 1000);
  EXPECT_EQ(json["makespan_s"], 3000);
  EXPECT_NEAR(json["util_makespan"], (2 * 1000 + 300 + 2000) / 6000.0, 1e-6);
  EXPECT_EQ(json["util_until_last_submit"], 1);
  EXPECT_EQ(json["goodput_fraction"], 1);
  EXPECT_EQ(json["interrupts"], 0);
  EXPECT_EQ(json["cross_zone_allocations_max"], 0);
  EXPECT_EQ(json["wall_s"], 1.5);
  EXPECT_GE(json["passes"], 3);
}

// --- the baselines, in the world

TEST(TraceWorld, EasyPassesTheHeadWithWhatEndsInTime) {
  // One node is free for 1,000 s before the two that `head` wants are; `long` would hold it up.
  const char* const kLines = "first,,0,1000,8,1,,\nhead,,1,500,16,2,,\nlong,,2,5000,8,1,,\nshort,,3,900,8,1,,\n";
  EXPECT_EQ(Ends(Play(Options(2, core::PlannerKind::kFifo), kLines)), (Times{1000, 1500, 6500, 2400}));
  EXPECT_EQ(Ends(Play(Options(2, core::PlannerKind::kEasy), kLines)), (Times{1000, 1500, 6500, 903}));
}

TEST(TraceWorld, AnInterruptionKeepsTheWorkAndCostsTheRestore) {
  // `first` has had 18,000 GPU-seconds at 2,250 s, gives way at the next look, and goes on when `second` has had its
  // 1,000 s.
  const TraceOutcome outcome =
      Play(Options(1, core::PlannerKind::kTiresias), "first,,0,3000,8,1,,\nsecond,,10,1000,8,1,,\n");
  EXPECT_EQ(Ends(outcome), (Times{2300 + 1000 + 40 + 700, 2300 + 1000}));
  EXPECT_EQ(outcome.interrupts, 1u);
  EXPECT_EQ(outcome.restore_node_ms, 40'000);
  EXPECT_EQ(outcome.jobs[0].longest_wait, Seconds(1000));
  EXPECT_EQ(outcome.jobs[1].longest_wait, Seconds(2290));
  const auto json = FiguresOf(outcome, 1, -1);
  EXPECT_NEAR(json["checkpoint_overhead_fraction"], 40.0 / 4040, 1e-6);
  EXPECT_NEAR(json["goodput_fraction"], 4000.0 / 4040, 1e-6);
}

TEST(TraceWorld, TiresiasCountsTheGpusThatAJobUses) {
  // One GPU has 18,000 GPU-seconds after 18,000 s only.
  const TraceOutcome outcome =
      Play(Options(1, core::PlannerKind::kTiresias), "first,,0,3000,1,1,,\nsecond,,10,1000,8,1,,\n");
  EXPECT_EQ(Ends(outcome), (Times{3000, 4000}));
  EXPECT_EQ(outcome.interrupts, 0u);
}

TEST(TraceWorld, LargeJobsCostMoreToRestore) {
  TraceOptions options = Options(2, core::PlannerKind::kTiresias);
  options.restore_large = Seconds(90);
  const TraceOutcome outcome = Play(options, "first,,0,3000,16,2,,\nsecond,,10,1000,16,2,,\n");
  EXPECT_EQ(Ends(outcome), (Times{1160 + 1000 + 90 + 1840, 1160 + 1000}));
  EXPECT_EQ(outcome.restore_node_ms, 2 * 90'000);
}

TEST(TraceWorld, JobsOverTwoZonesAreCounted) {
  TraceOptions options = Options(4);
  options.zones = 2;
  options.leaf_nodes = 1;
  const TraceOutcome outcome = Play(options, "a,,0,100,24,3,,\nb,,0,100,8,1,,\nc,,0,100,16,2,,\nd,,0,100,16,2,,\n");
  EXPECT_EQ(outcome.cross_zone_allocations_max, 1u);
  EXPECT_EQ(Ends(outcome), (Times{100, 100, 200, 200}));
}

// --- faults

TraceOptions Broken(double mtbf_days) {
  TraceOptions options = Options(8);
  options.faults.emplace();
  options.faults->node_mtbf_days = mtbf_days;
  options.faults->ecc = options.faults->rma = 20;
  return options;
}

TEST(TraceWorld, AFailureThrowsAJobBackToItsLastCheckpoint) {
  const TraceOutcome outcome = Play(Broken(2), Generated(150, 6));
  EXPECT_GT(outcome.thrown_back, 5u);
  EXPECT_GE(outcome.node_failures, outcome.thrown_back);
  EXPECT_GT(outcome.lost_node_ms, 0);
  // Never more than the interval, on the nodes of the largest.
  EXPECT_LT(outcome.lost_node_ms, static_cast<std::int64_t>(outcome.thrown_back) * 6 * Minutes(5).ms);
  std::int64_t useful = 0;
  for (const TracedJob& job : outcome.jobs) {
    ASSERT_TRUE(job.ended);
    useful += job.duration.ms * job.nodes;
  }
  EXPECT_EQ(useful + outcome.lost_node_ms + outcome.restore_node_ms, outcome.busy_node_ms)
      << "every node-second is in one class";
}

TEST(TraceWorld, ManyFailuresUnderEveryPlannerAreLivedThrough) {
  for (const auto planner : {core::PlannerKind::kEasy, core::PlannerKind::kTiresias, core::PlannerKind::kTimeSharing}) {
    TraceOptions options = Broken(0.5);
    options.planner = planner;
    const TraceOutcome outcome = Play(options, Generated(120, 6));
    for (const TracedJob& job : outcome.jobs) EXPECT_TRUE(job.ended);
    EXPECT_GT(outcome.thrown_back, 10u);
  }
}

TEST(TraceWorld, WhatNeverEndsIsAViolation) {
  TraceOptions options = Options(2);
  options.faults.emplace();
  options.faults->node_mtbf_days = 0.01;
  options.faults->nvlink = options.faults->software = 0;
  options.faults->repair = options.faults->reboot = options.faults->link_flap = Hours(24 * 365);
  const TraceOutcome outcome = TraceWorld(options, Trace("a,,0,900000,16,2,,\n")).Run();
  EXPECT_EQ(outcome.violations, 1u);
  EXPECT_NE(outcome.violation_texts.at(0).find("1 jobs are unfinished"), std::string::npos);
}

// --- the command

struct Said {
  int code = 0;
  std::string out, err;
};

Said Command(std::vector<std::string> words) {
  words.insert(words.begin(), "glim-sim");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Said said;
  said.code = RunTraceCommand(static_cast<int>(argv.size()), argv.data());
  std::fflush(stdout);
  said.out = ::testing::internal::GetCapturedStdout();
  said.err = ::testing::internal::GetCapturedStderr();
  return said;
}

// A file of this test alone, removed with it.
class File {
 public:
  explicit File(const std::string& text)
      : path_(::testing::TempDir() + "glim-trace-" + std::to_string(::getpid()) + "-" + std::to_string(++made_)) {
    std::ofstream(path_) << text;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  static inline int made_ = 0;
  const std::string path_;
};

TEST(TraceCommand, TheSameSeedGivesTheSameBytes) {
  const File trace(kHeader + Generated(200, 6));
  const File faults("node_mtbf_days: 3\n");
  const auto run = [&](const char* seed) {
    return Command(
        {"--trace", trace.path(), "--nodes", "8", "--faults", faults.path(), "--seed", seed, "--json", "--no-wall"});
  };
  const Said first = run("4");
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(first.out, run("4").out);
  EXPECT_NE(first.out, run("5").out);
  const auto json = nlohmann::json::parse(first.out);
  EXPECT_EQ(json["jobs"], 200);
  EXPECT_FALSE(json.contains("wall_s"));
  EXPECT_FALSE(json.contains("pass_us_p50"));
}

TEST(TraceCommand, PrintsEveryFigureByItsKey) {
  const File trace(kHeader + std::string(kThree));
  const Said said = Command({"--trace=" + trace.path(), "--nodes=2", "--policy=fifo", "--json"});
  EXPECT_EQ(said.code, 0) << said.err;
  const auto json = nlohmann::json::parse(said.out);
  for (const char* key : {"jobs",
                          "jct_mean_s",
                          "queue_mean_s",
                          "queue_p50_s",
                          "queue_p90_s",
                          "queue_p99_s",
                          "queue_p999_s",
                          "slowdown_mean",
                          "slowdown_p999",
                          "wait_p999_s",
                          "wait_max_s",
                          "util_until_last_submit",
                          "util_makespan",
                          "makespan_s",
                          "interrupts",
                          "checkpoint_overhead_fraction",
                          "goodput_fraction",
                          "cross_zone_allocations_max",
                          "invariant_violations",
                          "passes",
                          "pass_us_p50",
                          "pass_us_p99",
                          "wall_s"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}

TEST(TraceCommand, ReadsAPolicyFile) {
  const File trace(kHeader + std::string("long,,0,50000,8,1,,\nshort,,10,100,8,1,,\n"));
  const File eager("quantum_min: 1m\nquantum_max: 5m\nswitch_cost: 0s\nstarvation_bound: 10m\n");
  const File patient("quantum_min: 12h\nquantum_max: 12h\nstarvation_bound: 24h\n");
  const auto queue_mean = [&](const std::string& policy) {
    const Said said = Command({"--trace", trace.path(), "--nodes", "1", "--policy", policy, "--json", "--no-wall"});
    EXPECT_EQ(said.code, 0) << said.err;
    return said.code == 0 ? nlohmann::json::parse(said.out)["queue_mean_s"].get<double>() : -1;
  };
  EXPECT_LT(queue_mean(eager.path()), queue_mean(patient.path()));
}

TEST(TraceCommand, SaysWhatItRefuses) {
  const File trace(kHeader + std::string(kThree));
  const File bad("1,2\n");
  const File unknown("sometimes: 3\n");
  const std::pair<std::vector<std::string>, std::string> kRows[] = {
      {{"--trace", bad.path(), "--nodes", "2"}, "glim-sim: --trace: line 1, column job_id: is missing"},
      {{"--trace", trace.path(), "--nodes", "2", "--checkpoint-cost", "40"}, "--checkpoint-cost: '40' is no pair"},
      {{"--trace", trace.path(), "--nodes", "2", "--faults", unknown.path()}, ":1:1: sometimes: unknown key"},
      {{"--trace", trace.path(), "--nodes", "2", "--policy", unknown.path()}, "sometimes"},
      {{"--trace", trace.path(), "--nodes", "2", "--zones", "3"}, "--zones: there are fewer nodes than zones"},
      {{"--trace", trace.path(), "--nodes", "0"}, "--nodes"},
      {{"--trace", trace.path()},
       "--nodes: is missing; say how many nodes there are, or name a file of them: --cluster"},
  };
  for (const auto& [words, why] : kRows) {
    const Said said = Command(words);
    EXPECT_NE(said.code, 0) << why;
    EXPECT_NE(said.err.find(why), std::string::npos) << said.err;
    EXPECT_TRUE(said.out.empty());
  }
}

}  // namespace
}  // namespace glim::sim
