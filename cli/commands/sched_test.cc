// glim admin sched status, trace and simulate: what is asked, what is shown, what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <unistd.h>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kHour = 3'600'000;

class SchedTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    path_ = testing::TempDir() + "/sched-policy-" + std::to_string(::getpid()) + ".yaml";
    std::ofstream(path_) << "quantum_min: 5m\n";
    server_.Lock()->policy_yaml = "quantum_min: 10m\n";
  }
  void TearDown() override {
    std::remove(path_.c_str());
    CliTest::TearDown();
  }
  // Jobs of an hour on the one node, so many a day, on two pages.
  void AddPast(int days, int a_day) {
    const auto state = server_.Lock();
    state->past.resize(2);
    const std::int64_t now = Now();
    auto* node = state->past[0].add_nodes();
    node->set_name("n1");
    node->set_pool("default");
    node->set_zone("A");
    node->set_leaf("l1");
    node->set_gpus(8);
    std::uint64_t id = 0;
    for (int day = 0; day < days; ++day) {
      for (int i = 0; i < a_day; ++i) {
        auto* job = state->past[id % 2].add_jobs();
        job->set_id(++id);
        job->set_user("kim");
        job->set_pool("default");
        job->set_priority(i % 2 == 0 ? "normal" : "high");
        job->set_state("succeeded");
        job->set_nodes(1);
        job->set_gpus_per_node(8);
        job->set_submitted_at_ms(now - (days - day) * 24 * kHour + i * 1000);
        job->set_started_at_ms(job->submitted_at_ms() + i * kHour);
        job->set_ended_at_ms(job->started_at_ms() + kHour);
        job->set_held_ms(kHour);
        job->set_held_gpu_ms(8 * kHour);
        job->set_productive_gpu_ms(8 * kHour);
        job->set_attempts(1);
      }
    }
    for (auto& page : state->past) page.set_until_ms(now);
  }
  static std::int64_t Now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  std::string path_;
};

TEST_F(SchedTest, StatusIsShown) {
  {
    const auto state = server_.Lock();
    auto& status = state->sched_status;
    status.set_epoch(7);
    status.set_now_ms(1'763'640'600'000);
    status.set_leads_since_ms(1'763'640'000'000);
    status.set_policy_since_ms(1'763'640'000'000);
    status.set_policy_source("/etc/glim/policy.yaml");
    for (auto* timing : {status.mutable_passes(), status.mutable_commits()}) {
      timing->set_count(1500);
      timing->set_over(1024);
      timing->set_over_ms(300'000);
      timing->set_last_us(1234);
      timing->set_p50_us(900);
      timing->set_p99_us(4000);
      timing->set_max_us(5678);
    }
    status.set_last_pass_at_ms(1'763'640'599'000);
    status.set_last_pass_woken_by("job submitted");
    auto* wakes = status.add_wakes();
    wakes->set_by("node reported");
    wakes->set_count(1000);
    status.set_starts(12);
    status.set_jobs_queued(3);
    status.set_jobs_live(4);
    status.set_inbox(2);
    status.set_next_deadline_at_ms(1'763'640'630'000);
    status.set_next_deadline("job 12 must have left its nodes");
    status.set_store("sqlite");
  }
  const GlimResult result = Glim({"admin", "sched", "status"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "leader      epoch 7, since 2025-11-20T12:00:00.000Z (10 min ago)\n"
            "policy      /etc/glim/policy.yaml, since 2025-11-20T12:00:00.000Z (10 min ago)\n"
            "passes      last 1.234 ms, p50 0.900 ms, p99 4.000 ms, max 5.678 ms\n"
            "            1500 since it leads; the figures are over the newest 1024, which came in 5 min\n"
            "last pass   2025-11-20T12:09:59.000Z (1 s ago), woken by: job submitted\n"
            "woken by    node reported 1000\n"
            "starts      12 decided by these passes\n"
            "jobs        3 queued, 4 live\n"
            "inbox       2 events wait for the next batch\n"
            "deadline    in 30 s: job 12 must have left its nodes\n"
            "store       sqlite, commits last 1.234 ms, p50 0.900 ms, p99 4.000 ms, max 5.678 ms\n"
            "            1500 since it leads; the figures are over the newest 1024, which came in 5 min\n");
  EXPECT_EQ(json::parse(Glim({"-o", "json", "admin", "sched", "status"}).out)["sched"]["epoch"], 7);
}

TEST_F(SchedTest, ATraceIsATableOfSteps) {
  {
    const auto state = server_.Lock();
    state->trace.set_verdict("waits");
    const auto add = [&](const char* stage, const char* message) {
      auto* step = state->trace.add_steps();
      step->set_stage(stage);
      step->set_message(message);
      return step;
    };
    add("placement", "zone A: 6 nodes fit, 5 free; 6 needed: 1 short");
    for (int i = 1; i <= 6; ++i) add("placement", "zone B: none")->add_nodes("n" + std::to_string(i));
    for (int i = 1; i <= 6; ++i) state->trace.mutable_steps(1)->add_nodes("m" + std::to_string(i));
    add("verdict", "waits, nodes_busy: 5 nodes free");
    state->trace.set_steps_left_out(3);
  }
  const GlimResult result = Glim({"admin", "sched", "trace", "812"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("placement  zone A: 6 nodes fit, 5 free; 6 needed: 1 short\n"));
  EXPECT_THAT(result.out, HasSubstr("n1, m1, m2, m3 and 3 more\n"));
  EXPECT_THAT(result.out, HasSubstr("\nverdict    waits, nodes_busy: 5 nodes free\nand 3 more steps\n"));
  EXPECT_EQ(result.err, "job 812 waits; nothing was changed\n");
  const json document = json::parse(Glim({"-o", "json", "admin", "sched", "trace", "812"}).out);
  EXPECT_EQ(document["trace"]["job_id"], 812);
  EXPECT_EQ(document["trace"]["steps"].size(), 8u);
  Refuse(Refusal(grpc::StatusCode::FAILED_PRECONDITION, "job 812 is running"));
  EXPECT_EQ(Glim({"admin", "sched", "trace", "812"}).exit_code, 6);
}

// The real glim-sim plays: three days of four jobs on one node.
TEST_F(SchedTest, SimulatePlaysThePastUnderBothPolicies) {
  AddPast(3, 4);
  env_["TMPDIR"] = folder_;
  const GlimResult result =
      Glim({"admin", "sched", "simulate", "--since", "7d", "--policy", path_, "--resamples", "5"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("FIGURE"));
  EXPECT_THAT(result.out, HasSubstr("wait p50, all"));
  EXPECT_THAT(result.out, HasSubstr("wait p99, high"));
  EXPECT_THAT(result.out, HasSubstr("makespan"));
  EXPECT_THAT(result.err, HasSubstr("12 jobs from "));
  EXPECT_THAT(result.err, HasSubstr("range: nine tenths of 5 histories"));
  EXPECT_THAT(result.err, HasSubstr("not told by the history: no job came back"));
  const auto simulate = [&](const std::string& seed) {
    json document = json::parse(
        Glim({"-o", "json", "admin", "sched", "simulate", "--policy", path_, "--resamples", "5", "--seed", seed}).out);
    EXPECT_EQ(document["jobs"], 12);
    EXPECT_EQ(document["days"], 3);
    EXPECT_FALSE(document["notes"].empty());
    return document["figures"];
  };
  const json first = simulate("1");
  EXPECT_EQ(first, simulate("1")) << "the same seed, the same figures";
  EXPECT_EQ(first[0]["key"], "classes.all.wait_p50_s");
  EXPECT_GT(first[0]["present"]["value"].get<double>(), 0) << "four jobs of an hour at once on one node";
  EXPECT_EQ(server_.Lock()->exports.at(0).page_size(), 1000u);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("glim-simulate-")) << entry.path();
  }
}

TEST_F(SchedTest, WhatCannotBeSimulatedIsRefused) {
  std::ofstream(path_) << "quantum_min: 5m\nquantm_max: 3h\n";
  GlimResult result = Glim({"admin", "sched", "simulate", "--policy", path_});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr(path_ + ":2:1: quantm_max: "));
  EXPECT_THAT(server_.Lock()->exports, IsEmpty()) << "before anything else is asked";
  result = Glim({"admin", "sched", "simulate", "--policy", path_ + ".none"});
  EXPECT_EQ(result.exit_code, 2);
  std::ofstream(path_) << "quantum_min: 5m\n";
  result = Glim({"admin", "sched", "simulate", "--policy", path_, "--since", "1d", "--until", "2d"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--until is not after --since"));
  AddPast(1, 1);
  result = Glim({"admin", "sched", "simulate", "--policy", path_});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("the history has 1 job that"));
  EXPECT_THAT(result.err, HasSubstr("--since 30d"));
}

}  // namespace
}  // namespace glim::cli
