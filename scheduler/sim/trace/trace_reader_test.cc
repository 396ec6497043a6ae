// The readers of the trace mode: what they take, and what they refuse with its line.
#include "scheduler/sim/trace/trace_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "scheduler/sim/trace/trace_faults.h"

namespace glim::sim {
namespace {

constexpr char kColumns[] = "job_id,user,submit_s,duration_s,gpus,nodes,walltime_s,state\n";

TEST(TraceReader, TakesColumnsByNameAndFillsInWhatIsNotRecorded) {
  const auto trace =
      ParseTrace("nodes,gpus,submit_s,duration_s,job_id,queue\r\n,9,20,1.5,b 2,x\r\n3,,10,0,a,x\r\n\r\n");
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  ASSERT_EQ(trace->size(), 2u);
  const TraceJob& first = (*trace)[0];
  EXPECT_EQ(first.name, "a");
  EXPECT_EQ(first.user, "trace");
  EXPECT_EQ(first.submit, Seconds(10));
  EXPECT_EQ(first.duration, Seconds(1)) << "a job of no duration counts as one of a second";
  EXPECT_EQ(first.nodes, 3u);
  EXPECT_EQ(first.walltime, Duration{});
  const TraceJob& second = (*trace)[1];
  EXPECT_EQ(second.name, "line-2") << "what is no word is named by its line";
  EXPECT_EQ(second.duration, Milliseconds(1500));
  EXPECT_EQ(second.nodes, 2u) << "9 GPUs are 2 nodes of 8";
  EXPECT_EQ(second.gpus_per_node, 5u);
  EXPECT_EQ(first.gpus_per_node, 8u);
}

TEST(TraceReader, SaysWhichLineAndColumnItRefuses) {
  const std::pair<std::string, std::string> kRows[] = {
      {"", "line 1: there is no job"},
      {kColumns, "line 1: there is no job"},
      {"job_id,submit_s,duration_s\n", "line 1, column nodes: is missing"},
      {"job_id,submit_s,duration_s,nodes,nodes\n", "line 1, column nodes: is there twice"},
      {std::string(kColumns) + "1,,0,5,8,1,,\n2,,0,5\n", "line 3: has 4 columns, the first line has 8"},
      {std::string(kColumns) + "1,,x,5,8,1,,\n", "line 2, column submit_s: 'x' is not a number"},
      {std::string(kColumns) + "1,,,5,8,1,,\n", "line 2, column submit_s: is empty"},
      {std::string(kColumns) + "1,,-1,5,8,1,,\n", "line 2, column submit_s: -1 is out of range"},
      {std::string(kColumns) + "1,,0,nan,8,1,,\n", "line 2, column duration_s: 'nan' is not a number"},
      {std::string(kColumns) + "1,,0,1e30,8,1,,\n", "line 2, column duration_s: 1e30 is out of range"},
      {std::string(kColumns) + "1,,0,5,8,0,,\n", "line 2, column nodes: 0 is out of range"},
      {std::string(kColumns) + "1,,0,5,8,1.5,,\n", "line 2, column nodes: is not whole"},
      {std::string(kColumns) + "1,,0,5,,,,\n", "line 2, column nodes: is empty"},
      {std::string(kColumns) + "1,,0,5,0,1,,\n", "line 2, column gpus: 0 is out of range"},
      {std::string(kColumns) + "1,a b,0,5,8,1,,\n", "line 2, column user: is no name of a user"},
      {std::string(kColumns) + std::string(5000, '1'), "line 2: is longer than 4096 bytes"},
  };
  for (const auto& [text, why] : kRows) {
    const auto trace = ParseTrace(text);
    ASSERT_FALSE(trace.ok()) << text;
    EXPECT_EQ(trace.status().message().substr(0, why.size()), why);
    EXPECT_FALSE(trace.status().fix().empty()) << why;
  }
  EXPECT_EQ(ReadTrace("/nowhere/at/all.csv").status().code(), StatusCode::kNotFound);
}

TEST(TraceFaults, ReadsWhatDiffersAndRefusesTheRestWithItsLine) {
  const auto plan = ParseFaults("node_mtbf_days: 0.5\nrepair: 2h\nshares:\n  ecc: 50\n", "f.yaml");
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->node_mtbf_days, 0.5);
  EXPECT_EQ(plan->repair, Hours(2));
  EXPECT_EQ(plan->ecc, 50);
  EXPECT_EQ(plan->nvlink, FaultPlan{}.nvlink);
  EXPECT_TRUE(ParseFaults("", "f.yaml").ok());
  const std::pair<const char*, const char*> kRows[] = {
      {"node_mtbf_days: 1\nmtbf: 2\n", "f.yaml:2:1: mtbf: unknown key"},
      {"shares:\n  ecc: 1\n  xid: 2\n", "f.yaml:3:3: shares.xid: unknown key"},
      {"reboot: 1m\nreboot: 2m\n", "f.yaml:2:1: key 'reboot' stands here twice"},
      {"node_mtbf_days: -1\n", "f.yaml:1:17: node_mtbf_days: -1 is out of range"},
      {"node_mtbf_days: often\n", "f.yaml:1:17: node_mtbf_days: must be a number"},
      {"repair: 24\n", "f.yaml:1:9: repair: must be a duration"},
      {"checkpoint_every: 0s\n", "f.yaml:1:19: checkpoint_every: 0s is out of range"},
      {"link_flap_share: 1\n", "f.yaml:1:18: link_flap_share: 1 is out of range"},
      {"shares: 3\n", "f.yaml:1:9: shares: must be a mapping"},
      {"- 1\n", "f.yaml:1:1: must be a mapping"},
      {"shares: {nvlink: 0, software: 0, ecc: 0, reset: 0, rma: 0}\n", "f.yaml:1:9: shares: all are 0"},
      {"a: [", "f.yaml:2:1: not valid YAML"},
  };
  for (const auto& [text, why] : kRows) {
    const auto refused = ParseFaults(text, "f.yaml");
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.status().message().substr(0, std::string(why).size()), why);
  }
}

TEST(TraceFaults, TheMixIsDrawnAsItIsGiven) {
  FaultPlan plan;
  Rng rng(3);
  double software = 0, flaps = 0, hours = 0;
  constexpr int kDraws = 200'000;
  for (int i = 0; i < kDraws; ++i) {
    const Duration away = AwayAfterFault(plan, rng);
    software += away.ms == 0;
    flaps += away == plan.link_flap;
    hours += static_cast<double>(UntilNextFault(plan, 100, rng).ms) / 3.6e6;
  }
  const double hardware = plan.ecc + plan.reset + plan.rma, link = hardware * 0.3 / 0.7;
  EXPECT_NEAR(software / kDraws, (plan.nvlink + plan.software) / (100 + link), 0.005);
  EXPECT_NEAR(flaps / kDraws, link / (100 + link), 0.002);
  EXPECT_NEAR(hours / kDraws, 1000.0 * 24 / 100, 3.0);
}

}  // namespace
}  // namespace glim::sim
