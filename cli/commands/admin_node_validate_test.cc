// glim admin node validate: asks the scheduler, says who has the node, and with --wait what came of it.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class NodeValidateTest : public CliTest {
 protected:
  void SetUp() override {
    CliTest::SetUp();
    const auto state = server_.Lock();
    glim::v1::Node& node = state->nodes.emplace_back();
    node.set_name("n1");
    node.set_state("ready");
  }
  // What becomes of the node when it is asked for: job 9 has measured it.
  void Measured(const std::string& state_of_job, const std::string& bad = "", std::int64_t again_at_ms = 0) {
    const auto state = server_.Lock();
    AddJob(state.state, 9, state_of_job);
    state->logs[1] = R"({"ok":false,"text":"cpu piece cpu1: too slow"})";
    state->measured.set_last_job_id(9);
    state->measured.set_bad(bad);
    state->measured.set_again_at_ms(again_at_ms);
    if (again_at_ms > 0) state->measured.set_need("asked");
  }
};

TEST_F(NodeValidateTest, ItIsAskedForWithWhatIsSaidAndWhoHasItIsShown) {
  {
    const auto state = server_.Lock();
    glim::v1::Victim& job = state->on_node.emplace_back();
    job.set_job_id(7);
    job.set_name("sft");
    job.set_user("kim");
  }
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--full", "--folder", "/ckpt,/local", "-y"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "node n1 is measured before its next job; if it is bad, it is cordoned\n"
            "job 7 (sft, kim) has it now, and is not disturbed\n");
  const auto state = server_.Lock();
  ASSERT_EQ(state->validations.size(), 1u);
  EXPECT_TRUE(state->validations[0].full());
  EXPECT_FALSE(state->validations[0].dry_run());
  EXPECT_THAT(state->validations[0].folders(), ElementsAre("/ckpt", "/local"));
}

TEST_F(NodeValidateTest, ADryRunSaysTheSameAndAsksForNothing) {
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("node n1 is measured before its next job"));
  for (const auto state = server_.Lock(); const auto& request : state->validations) EXPECT_TRUE(request.dry_run());
}

TEST_F(NodeValidateTest, AGoodNodeIsWaitedFor) {
  Measured("succeeded");
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--wait", "-y", "-o", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["job_id"], 9);
  EXPECT_EQ(document["ok"], true);
  EXPECT_EQ(document["cordoned"], false);
}

TEST_F(NodeValidateTest, AGoodNodeIsSaidToBeGood) {
  Measured("succeeded");
  EXPECT_EQ(Glim({"admin", "node", "validate", "n1", "--wait", "-y"}).err, "node n1 is good\n");
}

TEST_F(NodeValidateTest, ABadNodeIsAnErrorWithItsFault) {
  Measured("failed", "cpu piece cpu1: too slow");
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--wait", "-y"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("cpu piece cpu1: too slow"));
  EXPECT_THAT(result.err, HasSubstr("node n1 is cordoned: cpu piece cpu1: too slow"));
  EXPECT_THAT(result.err, HasSubstr("NODE_BAD"));
}

TEST_F(NodeValidateTest, ATryThatCameToNothingIsNotWaitedForAgain) {
  Measured("failed", "", 5'000);
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--wait", "-y"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("JOB_FAILED"));
}

TEST_F(NodeValidateTest, ANodeThatIsOutIsNotWaitedFor) {
  server_.Lock()->nodes[0].mutable_cordon()->set_by("ora");
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--wait", "-y"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("node n1 is cordoned: it is measured when it is back"));
  EXPECT_TRUE(server_.Lock()->validations.empty());
  EXPECT_EQ(Glim({"admin", "node", "validate", "n1", "-y"}).exit_code, 0) << "but it may be asked for";
}

TEST_F(NodeValidateTest, AnAskThatSomebodyTookBackEndsTheWait) {
  const GlimResult result = Glim({"admin", "node", "validate", "n1", "--wait", "-y"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("NOT_MEASURED"));
  EXPECT_THAT(result.err, HasSubstr("glim events --node n1"));
}

}  // namespace
}  // namespace glim::cli
