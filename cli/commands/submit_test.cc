// glim submit, the real program: what is sent, what is printed, what a repeat does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/rpc/config.h"
#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using SubmitTest = CliTest;

TEST_F(SubmitTest, SubmitsAFileAndPrintsTheIdAlone) {
  Write("sub/job.yaml", kSpec);
  const GlimResult result = Glim({"submit", "sub/job.yaml"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "1\n");
  EXPECT_EQ(result.err, "submitted sft: 2 x 8 GPUs, priority normal\n");
  const auto state = server_.Lock();
  ASSERT_EQ(state->submits.size(), 1u);
  EXPECT_EQ(state->submits[0].specs(0).workdir(), folder_ + "/sub");
  EXPECT_EQ(state->submits[0].request_id().size(), 32u);
  EXPECT_EQ(state->user, LoginName());
}

TEST_F(SubmitTest, SubmitsStandardInputAndManyDocumentsAtOnce) {
  const GlimResult result = Glim({"submit", "-", "-o", "json"}, std::string(kSpec) + "---\nname: b\nrun: \"true\"\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json document = json::parse(result.out);
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(document["job_ids"], json({1, 2}));
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(server_.Lock()->submits.size(), 1u);
}

TEST_F(SubmitTest, SubmitsACommandWithFlags) {
  const GlimResult result = Glim({"submit",     "--nodes", "4",       "--priority", "high",
                                  "--name",     "mine",    "--pool",  "h800",       "--gpus-per-node=4",
                                  "--launcher", "per-gpu", "--grace", "90s",        "--as",
                                  "lee",        "--",      "python",  "train.py",   "--note",
                                  "it's $HOME", "-o",      "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto state = server_.Lock();
  ASSERT_EQ(state->submits.size(), 1u);
  const auto& spec = state->submits[0].specs(0);
  EXPECT_EQ(spec.run(), "python train.py --note 'it'\\''s $HOME' -o json");
  EXPECT_EQ(spec.name(), "mine");
  EXPECT_EQ(spec.nodes(), 4u);
  EXPECT_EQ(spec.gpus_per_node(), 4u);
  EXPECT_EQ(spec.pool(), "h800");
  EXPECT_EQ(spec.priority(), "high");
  EXPECT_EQ(spec.launcher(), glim::v1::LAUNCHER_PER_GPU);
  EXPECT_EQ(spec.interrupt().grace_ms(), 90'000);
  EXPECT_EQ(spec.workdir(), folder_);
  EXPECT_EQ(state->user, "lee");
}

TEST_F(SubmitTest, DryRunSubmitsNothing) {
  const GlimResult result = Glim({"submit", "--dry-run", "--", "true"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("nothing was submitted"));
  const auto state = server_.Lock();
  EXPECT_TRUE(state->submits.at(0).validate_only());
  EXPECT_TRUE(state->jobs.empty());
}

TEST_F(SubmitTest, ALostAnswerIsAskedForAgainUnderTheSameId) {
  {
    const auto state = server_.Lock();
    state->refusal = grpc::Status(grpc::StatusCode::UNAVAILABLE, "gone");
    state->refusals_left = 1;
  }
  EXPECT_EQ(Glim({"submit", "--request-id", "r1", "--", "true"}).out, "1\n");
  EXPECT_EQ(Glim({"submit", "--request-id", "r1", "--", "true"}).out, "1\n");
  const GlimResult other = Glim({"submit", "--request-id", "r1", "--", "false"});
  EXPECT_EQ(other.exit_code, 5);
  EXPECT_THAT(other.err, HasSubstr("[REQUEST_ID_REUSED]"));
}

TEST_F(SubmitTest, SubmitAndWaitGivesTheVerdict) {
  const GlimResult result = Glim({"submit", "--wait", "--", "true"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "1\n");
  EXPECT_THAT(result.err, HasSubstr("job 1 succeeded"));
}

TEST_F(SubmitTest, ABadSpecIsAUsageErrorThatNamesLineAndFix) {
  Write("job.yaml", "name: a\nnode: 3\nrun: x\n");
  const GlimResult result = Glim({"submit", "job.yaml"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err,
            "error: job.yaml:2:1: unknown key 'node'  [INVALID_SPEC]\n  field: node\n  fix: did you mean 'nodes'?\n");
  EXPECT_TRUE(server_.Lock()->submits.empty());
}

}  // namespace
}  // namespace glim::cli
