// What operators change of nodes and jobs: what will change is shown, nothing is done unasked, and what was said
// crosses the network.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class OperateTest : public CliTest {
 protected:
  void PutOnNode(std::uint64_t job) {
    glim::v1::Victim victim;
    victim.set_job_id(job);
    victim.set_name("sft");
    victim.set_user("kim");
    victim.set_priority("normal");
    victim.set_preemption_cost_gpu_ms(3'600'000);
    victim.set_steps_since_save(12);
    server_.Lock()->on_node.push_back(victim);
  }
};

// 16 GPUs, a quarter of an hour since its save.
void PutAtRisk(FakeState* state, std::uint64_t job) {
  glim::v1::JobAtRisk& risk = state->at_risk.emplace_back();
  risk.set_job_id(job);
  risk.set_name("sft");
  risk.set_user("kim");
  risk.set_gpu_ms(14'400'000);
  risk.set_since_save_ms(900'000);
  risk.set_steps_since_save(20);
}

TEST_F(OperateTest, AnUpdateSaysWhatOfAJobIsAnother) {
  const GlimResult result =
      Glim({"update", "7", "--time", "4h", "--start-after", "2030-01-01T08:00Z", "--reason", "more data"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "job 7: limits.time 2h -> 4h\n");
  ASSERT_EQ(server_.Lock()->updates.size(), 1u);
  const glim::v1::UpdateJobRequest request = server_.Lock()->updates[0];
  EXPECT_EQ(request.job_id(), 7u);
  EXPECT_FALSE(request.has_name());
  EXPECT_EQ(request.time_limit_ms(), 4 * 3'600'000);
  EXPECT_EQ(request.start_after_ms(), 1'893'484'800'000);
  EXPECT_EQ(request.reason(), "more data");
  EXPECT_EQ(Glim({"update", "7", "--time", "none", "--dry-run"}).err,
            "job 7: limits.time 2h -> 4h\nnothing was changed\n");
  EXPECT_EQ(server_.Lock()->updates[1].time_limit_ms(), 0);
  EXPECT_EQ(Glim({"update", "7", "--name", "a"}).err, "job 7 is so already\n");
}

TEST_F(OperateTest, AnUpdateOfNothingOrToNoTimeIsRefused) {
  GlimResult result = Glim({"update", "7"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("give --name, --time or --start-after"));
  result = Glim({"update", "7", "--time", "long"});
  EXPECT_THAT(result.err, HasSubstr("'long' is no duration; write it like 90m or 4h, or none"));
  result = Glim({"update", "7", "--start-after", "soon"});
  EXPECT_THAT(result.err, HasSubstr("'soon' is no moment"));
  EXPECT_TRUE(server_.Lock()->updates.empty());
}

TEST_F(OperateTest, ADrainShowsTheNodeAndWhoLeavesAndThenDoesIt) {
  PutOnNode(812);
  const GlimResult result =
      Glim({"admin", "node", "drain", "n1", "--deadline", "10m", "--for", "2h", "--reason", "a new fan", "-y"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("node n1\n  - in use\n  + drained by ora: a new fan\n"));
  EXPECT_THAT(result.out, HasSubstr("it is asked to save and leave:"));
  EXPECT_THAT(result.out, HasSubstr("812  sft   kim   normal"));
  const auto state = server_.Lock();
  ASSERT_EQ(state->drains.size(), 2u);
  EXPECT_TRUE(state->drains[0].dry_run());
  EXPECT_FALSE(state->drains[1].dry_run());
  EXPECT_EQ(state->drains[1].deadline_ms(), 600'000);
  EXPECT_EQ(state->drains[1].for_ms(), 7'200'000);
  EXPECT_EQ(state->drains[1].reason(), "a new fan");
}

TEST_F(OperateTest, WithoutATerminalAndWithoutYesNothingIsDone) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"admin", "node", "cordon", "n1", "--reason", "x"},
        {"admin", "node", "drain", "n1", "--reason", "x"},
        {"admin", "node", "uncordon", "n1"},
        {"admin", "job", "move", "7", "--reason", "x"},
        {"admin", "job", "kill", "7", "--reason", "x"},
        {"admin", "job", "priority", "7", "high", "--reason", "x"},
        {"admin", "kill", "--user", "kim", "--reason", "x"}}) {
    {
      const auto state = server_.Lock();
      AddJob(state.state, 7, "running");
    }
    const GlimResult result = Glim(words, "y\n");
    EXPECT_EQ(result.exit_code, 2) << words[2];
    EXPECT_THAT(result.err, HasSubstr("nothing was changed: there is no terminal to ask on"));
    EXPECT_THAT(result.err, HasSubstr("-y"));
  }
  const auto state = server_.Lock();
  for (const auto& request : state->cordons) EXPECT_TRUE(request.dry_run());
  for (const auto& request : state->drains) EXPECT_TRUE(request.dry_run());
  for (const auto& request : state->uncordons) EXPECT_TRUE(request.dry_run());
  for (const auto& request : state->moves) EXPECT_TRUE(request.dry_run());
  for (const auto& request : state->priorities) EXPECT_TRUE(request.dry_run());
  for (const auto& request : state->user_cancels) EXPECT_TRUE(request.dry_run());
  EXPECT_TRUE(state->cancels.empty());
}

TEST_F(OperateTest, ADryRunShowsTheSameAndChangesNothing) {
  const GlimResult result = Glim({"admin", "node", "cordon", "n1", "--reason", "a new fan", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "node n1\n  - in use\n  + cordoned by ora: a new fan\nno job is there\n");
  EXPECT_EQ(result.err, "nothing was changed\n");
  const json document =
      json::parse(Glim({"admin", "node", "cordon", "n1", "--reason", "x", "--dry-run", "-o", "json"}).out);
  EXPECT_EQ(document["changed"], false);
  EXPECT_EQ(document["node"]["cordon"]["reason"], "x");
  for (const auto state = server_.Lock(); const auto& request : state->cordons) EXPECT_TRUE(request.dry_run());
}

TEST_F(OperateTest, AReasonMustBeGiven) {
  const GlimResult result = Glim({"admin", "node", "drain", "n1", "-y"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--reason"));
}

TEST_F(OperateTest, ANodeIsGivenBack) {
  EXPECT_EQ(Glim({"admin", "node", "uncordon", "n1", "-y"}).exit_code, 0);
  ASSERT_EQ(server_.Lock()->uncordons.size(), 2u);
  EXPECT_FALSE(server_.Lock()->uncordons[1].dry_run());
}

TEST_F(OperateTest, JobsAreKilledWithTheReasonAndTheirLossIsShown) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 7, "running");
    AddJob(state.state, 8, "queued");
    PutAtRisk(state.state, 7);
  }
  const GlimResult shown = Glim({"admin", "job", "suspend", "7", "8", "--reason", "x", "--dry-run"});
  EXPECT_THAT(shown.out, HasSubstr("JOB  NAME  USER  STATE    NODES      NOT SAVED  SINCE ITS SAVE  STEPS\n"));
  EXPECT_THAT(shown.out, HasSubstr("  7  sft   kim   running      2  4.0 GPU-hours          15 min     20\n"));
  EXPECT_THAT(shown.out, HasSubstr("not saved: 4.0 GPU-hours in all"));
  const GlimResult result = Glim({"admin", "job", "kill", "7", "8", "--now", "--reason", "both write there", "-y"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("not saved: 4.0 GPU-hours in all"));
  EXPECT_EQ(result.err, "job 7 is cancelling\njob 8 is cancelling\n");
  const auto state = server_.Lock();
  ASSERT_EQ(state->cancels.size(), 2u);
  EXPECT_TRUE(state->cancels[0].now());
  EXPECT_EQ(state->cancels[0].reason(), "both write there");
}

TEST_F(OperateTest, WhatAJobsStateForbidsIsRefusedByADryRunToo) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 7, "running");
    AddJob(state.state, 8, "failed");
    AddJob(state.state, 9, "held");
    PutAtRisk(state.state, 7);
  }
  const std::vector<std::vector<std::string>> lines = {
      {"resume", "7"}, {"suspend", "8", "--reason", "x"}, {"kill", "8", "--reason", "x"}};
  for (const std::vector<std::string>& line : lines) {
    for (const char* how : {"--dry-run", "-y"}) {
      std::vector<std::string> words = {"admin", "job"};
      words.insert(words.end(), line.begin(), line.end());
      words.insert(words.end(), {how, "-o", "json"});
      const GlimResult refused = Glim(words);
      EXPECT_EQ(refused.exit_code, 6) << line[0] << how;
      EXPECT_EQ(refused.out, "") << "nothing was changed, and nothing says so";
      const json error = json::parse(refused.err)["error"];
      EXPECT_EQ(error["reason"], "WRONG_STATE");
      EXPECT_THAT(error["fix"].get<std::string>(), HasSubstr("glim status " + line[1]));
    }
  }
  const GlimResult some = Glim({"admin", "job", "kill", "7", "8", "--reason", "x", "--dry-run", "-o", "json"});
  EXPECT_EQ(some.exit_code, 6) << "one of them cannot be";
  EXPECT_EQ(json::parse(some.out)["jobs"].size(), 1u);
  const GlimResult resumed = Glim({"admin", "job", "resume", "9", "--dry-run"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, "JOB  NAME  USER  STATE  NODES\n  9  sft   kim   held       2\n")
      << "who resumes loses nothing";
}

TEST_F(OperateTest, AJobThatIsNamedTwiceIsOne) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 7, "running");
  }
  EXPECT_EQ(Glim({"admin", "job", "kill", "7", "7", "--reason", "x", "-y"}).exit_code, 0);
  EXPECT_EQ(server_.Lock()->cancels.size(), 1u);
}

TEST_F(OperateTest, AUserWhomNobodyKnowsIsASlip) {
  server_.Lock()->accounts.add_users()->set_name("kimberly");
  const GlimResult slip = Glim({"admin", "kill", "--user", "kimberley", "--reason", "left", "-y"});
  EXPECT_EQ(slip.exit_code, 3);
  EXPECT_THAT(slip.err, HasSubstr("did you mean 'kimberly'?"));
  EXPECT_EQ(Glim({"admin", "kill", "--user", "kimberly", "--reason", "left", "-y"}).exit_code, 0) << "without a job";
}

TEST_F(OperateTest, WhoStaysOnANodeHasNoCostAndIsNotInterrupted) {
  PutOnNode(812);
  EXPECT_EQ(Glim({"admin", "node", "cordon", "n1", "--reason", "a new fan", "--dry-run"}).out,
            "node n1\n  - in use\n  + cordoned by ora: a new fan\nit stays there:\n"
            "  JOB  NAME  USER  PRIORITY\n  812  sft   kim   normal\n");
}

TEST_F(OperateTest, AJobThatIsNotThereIsSaidBeforeAnythingIsDone) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 7, "running");
  }
  EXPECT_EQ(Glim({"admin", "job", "suspend", "7", "99", "--reason", "x", "-y"}).exit_code, 3);
  EXPECT_TRUE(server_.Lock()->suspends.empty());
}

TEST_F(OperateTest, APriorityAndAMoveAreTriedFirst) {
  PutOnNode(7);
  const GlimResult priority = Glim({"admin", "job", "priority", "7", "high", "--reason", "it is due", "-y"});
  EXPECT_EQ(priority.out, "job 7\n  - priority normal\n  + priority high\n");
  const GlimResult move = Glim({"admin", "job", "move", "7", "--reason", "a slow switch", "-y"});
  EXPECT_THAT(move.out, HasSubstr("job 7 saves, leaves and goes on elsewhere:"));
  const auto state = server_.Lock();
  ASSERT_EQ(state->priorities.size(), 2u);
  EXPECT_EQ(state->priorities[1].reason(), "it is due");
  ASSERT_EQ(state->moves.size(), 2u);
  EXPECT_FALSE(state->moves[1].dry_run());
}

TEST_F(OperateTest, AllOfAUsersJobsAreCountedAndEnded) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 7, "running");
    AddJob(state.state, 8, "queued");
    PutAtRisk(state.state, 7);
  }
  const GlimResult result = Glim({"admin", "kill", "--user", "kim", "--reason", "left", "-y"});
  EXPECT_THAT(result.out, HasSubstr("2 jobs of user kim: 7, 8\n"));
  EXPECT_THAT(result.out, HasSubstr("not saved: 4.0 GPU-hours in all\n"));
  const json document =
      json::parse(Glim({"admin", "kill", "--user", "kim", "--reason", "left", "-y", "-o", "json"}).out);
  EXPECT_EQ(document["changed"], true);
  EXPECT_EQ(document["count"], 2);
  EXPECT_EQ(document["not_saved"][0]["gpu_ms"], 14'400'000);
}

TEST_F(OperateTest, HelpHasAnExample) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"admin", "node", "drain"}, {"admin", "job", "move"}, {"admin", "kill"}}) {
    std::vector<std::string> help = words;
    help.emplace_back("--help");
    EXPECT_THAT(Glim(help).out, HasSubstr("Example:\n  glim " + words[0] + " " + words[1]));
  }
}

TEST_F(OperateTest, ListsAreFilteredByTheScheduler) {
  EXPECT_EQ(Glim({"nodes", "--pool", "a100", "--zone", "A", "--state", "ready,lost", "--cordoned"}).err,
            "no such nodes\n");
  const auto state = server_.Lock();
  const auto& nodes = state->node_requests.at(0);
  EXPECT_EQ(nodes.pool(), "a100");
  EXPECT_EQ(nodes.zone(), "A");
  EXPECT_THAT(nodes.states(), ElementsAre("ready", "lost"));
  EXPECT_TRUE(nodes.cordoned());
}

TEST_F(OperateTest, ANodeThatIsTakenOutSaysSoInItsState) {
  {
    const auto state = server_.Lock();
    glim::v1::Node node;
    node.set_name("n1");
    node.set_state("ready");
    node.set_message("drained by ora: a new fan");
    node.mutable_cordon()->set_drain(true);
    node.mutable_cordon()->set_drained(true);
    node.mutable_cordon()->set_since_ms(1);
    state->nodes.push_back(node);
  }
  EXPECT_THAT(Glim({"admin", "node", "ls"}).out, HasSubstr("n1    drained"));
  const GlimResult one = Glim({"admin", "node", "show", "n1"});
  EXPECT_THAT(one.out, HasSubstr("state       drained\nnote        drained by ora: a new fan\ntaken out   "));
}

}  // namespace
}  // namespace glim::cli
