// glim wait and glim logs, the real program: verdicts, absences, attempts that follow each other, Ctrl-C.
#include <csignal>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"
#include "sdk/base/testing/waits.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using FollowTest = CliTest;

TEST_F(FollowTest, WaitGivesVerdictAndTimeout) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 1, "succeeded");
    AddJob(state.state, 2, "failed").set_message("rank 3 exited with 1");
    AddJob(state.state, 3, "running");
    AddJob(state.state, 4, "cancelled");
  }
  EXPECT_EQ(Glim({"wait", "1"}).exit_code, 0);
  const GlimResult failed = Glim({"wait", "2"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_THAT(failed.err, HasSubstr("rank 3 exited with 1"));
  {
    const auto state = server_.Lock();
    auto* attempt = state->jobs[2].add_attempts();
    attempt->set_outcome("failed");
    attempt->set_message("rank 3 on node n1 exited with code 1: ModuleNotFoundError: No module named 'glim'");
  }
  EXPECT_THAT(Glim({"wait", "2"}).err, HasSubstr("PYTHONPATH")) << "a hint where one is known";
  const GlimResult late = Glim({"wait", "3", "--timeout", "300ms"});
  EXPECT_EQ(late.exit_code, 7);
  EXPECT_THAT(late.err, HasSubstr("job 3 is still running"));
  EXPECT_EQ(Glim({"wait", "4"}).exit_code, 1);
  EXPECT_EQ(Glim({"wait", "5"}).exit_code, 3);
}

// UNAVAILABLE is said by one that is stopping, and by nobody at all; a call that one cuts short as it ends is
// CANCELLED.
class AbsenceTest : public FollowTest, public testing::WithParamInterface<grpc::StatusCode> {};

INSTANTIATE_TEST_SUITE_P(Codes, AbsenceTest,
                         testing::Values(grpc::StatusCode::UNAVAILABLE, grpc::StatusCode::CANCELLED));

TEST_P(AbsenceTest, WaitOutlastsAnAbsentScheduler) {
  AddJob(server_.Lock().state, 1, "running");
  GlimProcess process({"wait", "1"}, Options());
  const auto asked = [this] { return !server_.Lock()->user.empty(); };
  ASSERT_TRUE(Eventually(asked));
  {
    const auto state = server_.Lock();
    state->refusal = grpc::Status(GetParam(), "restarting");
    state->refusals_left = 2;
    state->jobs[1].set_state("succeeded");
  }
  const GlimResult result = process.Finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("waiting for it to come back"));
}

TEST_F(FollowTest, LogsPassRawAndGoOnWhereTheyStopped) {
  const std::string text("step 1 \x1b[1mbold\x1b[0m \xff\xfe\nstep 2 \xe4\xb8\xad\xe6\x96\x87\nno end");
  {
    const auto state = server_.Lock();
    auto* attempt = AddJob(state.state, 1, "succeeded").add_attempts();
    attempt->mutable_ref()->set_number(1);
    attempt->set_state("ended");
    attempt->set_started_at_ms(1);
    state->logs[1] = text;
  }
  const GlimResult raw = Glim({"logs", "1", "--rank", "3"});
  EXPECT_EQ(raw.exit_code, 0) << raw.err;
  EXPECT_EQ(raw.out, text);
  EXPECT_EQ(server_.Lock()->log_requests.back().rank(), 3u);

  server_.Lock()->log_error = "the scheduler restarts";
  const GlimResult followed = Glim({"logs", "-f", "1"});
  EXPECT_EQ(followed.exit_code, 0) << followed.err;
  EXPECT_EQ(followed.out, text);
  EXPECT_GT(server_.Lock()->log_requests.back().offset(), 0);

  const GlimResult lines = Glim({"logs", "1", "-o", "json"});
  std::istringstream stream(lines.out);
  std::vector<json> parsed;
  for (std::string line; std::getline(stream, line);) parsed.push_back(json::parse(line));
  ASSERT_EQ(parsed.size(), 3u);
  EXPECT_EQ(parsed[1]["line"], "step 2 \xe4\xb8\xad\xe6\x96\x87");
  EXPECT_EQ(parsed[1]["offset"], static_cast<int>(text.find("step 2")));
  EXPECT_EQ(parsed[2]["line"], "no end");
}

// What a task wrote is a stranger's: on a terminal it has colours and no commands.
TEST_F(FollowTest, OnATerminalLogsHaveColoursAndNoCommands) {
  const std::string text(
      "step 1\r\x1b[1mbold\x1b[0m\n\x1b]0;title\a\x1b[2J\xc2\x9b"
      "6n \xe4\xb8\xad \x1b");
  {
    const auto state = server_.Lock();
    auto* attempt = AddJob(state.state, 1, "succeeded").add_attempts();
    attempt->mutable_ref()->set_number(1);
    attempt->set_state("ended");
    attempt->set_started_at_ms(1);
    state->logs[1] = text;
  }
  const auto on_terminal = [&](std::vector<std::string> arguments) {
    GlimOptions options = Options();
    options.terminal = true;
    const GlimResult result = GlimProcess(std::move(arguments), options).Finish();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  const std::string shown = "step 1\r\x1b[1mbold\x1b[0m\n\\x1b]0;title\\x07\\x1b[2J\\u009b6n \xe4\xb8\xad \\x1b";
  EXPECT_EQ(on_terminal({"logs", "1", "--rank", "3"}), shown);
  EXPECT_EQ(on_terminal({"logs", "-f", "1"}), shown);
  EXPECT_EQ(on_terminal({"logs", "1", "--rank", "3", "--raw"}), text);
  EXPECT_EQ(Glim({"logs", "1", "--rank", "3"}).out, text) << "what is no terminal gets the bytes";
  EXPECT_EQ(on_terminal({"logs", "1", "-o", "json"}).find('\x1b'), std::string::npos);
}

// Names, reasons and notes are of other users.
TEST_F(FollowTest, OnATerminalNobodysWordsAreCommands) {
  const std::string evil =
      "\x1b[2J\x1b[31m\xc2\x9b"
      "6n";
  {
    const auto state = server_.Lock();
    auto& job = AddJob(state.state, 1, "queued");
    job.mutable_spec()->set_name(evil);
    job.mutable_spec()->set_pool(evil);
    job.mutable_spec()->set_workdir(evil);
    job.set_user(evil);
    job.set_message(evil);
    auto* attempt = job.add_attempts();
    attempt->mutable_ref()->set_number(1);
    attempt->set_message(evil);
    attempt->set_outcome(evil);
  }
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"queue"}, {"status", "1"}, {"why", "1"}, {"history"}}) {
    GlimOptions options = Options();
    options.terminal = true;
    options.env["TERM"] = "xterm";
    const GlimResult result = GlimProcess(arguments, options).Finish();
    for (const std::string& text : {result.out, result.err}) {
      EXPECT_EQ(text.find("\x1b[2J"), std::string::npos) << arguments[0];
      EXPECT_EQ(text.find("\x1b[31m\xc2\x9b"), std::string::npos) << arguments[0];
      EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos) << arguments[0];
    }
  }
}

TEST_F(FollowTest, FollowingALogGoesOnWithTheNextAttempt) {
  {
    const auto state = server_.Lock();
    auto& job = AddJob(state.state, 1, "succeeded");
    for (const std::uint32_t number : {1u, 2u}) {
      auto* attempt = job.add_attempts();
      attempt->mutable_ref()->set_number(number);
      attempt->set_state("ended");
      attempt->set_started_at_ms(1);
    }
    state->logs[1] = "first\n";
    state->logs[2] = "second\n";
  }
  EXPECT_EQ(Glim({"logs", "-f", "1"}).out, "second\n");
  EXPECT_EQ(Glim({"logs", "-f", "1", "--attempt", "1"}).out, "first\n");

  // Interrupted while it is followed: attempt 1 ends, the job waits, attempt 2 comes.
  server_.Lock()->jobs[1].set_state("queued");
  server_.Lock()->jobs[1].mutable_attempts()->RemoveLast();
  server_.Lock()->jobs[1].mutable_attempts(0)->set_outcome("interrupted");
  server_.Lock()->log_requests.clear();
  GlimProcess process({"logs", "-f", "1"}, Options());
  ASSERT_TRUE(Eventually([this] { return !server_.Lock()->log_requests.empty(); }));
  {
    const auto state = server_.Lock();
    state->jobs[1].add_attempts()->mutable_ref()->set_number(2);  // never had its nodes: nothing to follow
    auto* attempt = state->jobs[1].add_attempts();
    attempt->mutable_ref()->set_number(3);
    attempt->set_state("ended");
    attempt->set_started_at_ms(1);
    state->jobs[1].set_state("succeeded");
    state->logs[3] = "third\n";
  }
  EXPECT_EQ(process.Finish().out, "first\nthird\n");
}

TEST_F(FollowTest, LogsShowTheRankThatFailedFirst) {
  {
    const auto state = server_.Lock();
    auto& job = AddJob(state.state, 1, "failed");
    for (const std::uint32_t number : {1u, 2u}) {
      auto* attempt = job.add_attempts();
      attempt->mutable_ref()->set_number(number);
      attempt->set_state("ended");
      attempt->set_started_at_ms(1);
      attempt->set_outcome(number == 1 ? "interrupted" : "failed");
      attempt->set_failed_rank(number == 1 ? -1 : 5);
      state->logs[number] = "words\n";
    }
  }
  const auto rank_asked = [this] { return server_.Lock()->log_requests.back().rank(); };
  for (const char* follow : {"", "-f"}) {
    std::vector<std::string> words = {"logs", "1"};
    if (*follow) words.push_back(follow);
    const GlimResult result = Glim(words);
    EXPECT_EQ(rank_asked(), 5u);
    EXPECT_EQ(result.out, "words\n");
    EXPECT_THAT(result.err, HasSubstr("attempt 2: rank 5 failed first, this is its log"));
  }
  EXPECT_EQ(Glim({"logs", "1", "--attempt", "1"}).err, "");
  EXPECT_EQ(rank_asked(), 0u) << "of an attempt that did not fail";
  EXPECT_EQ(Glim({"logs", "1", "--rank", "0"}).err, "");
  EXPECT_EQ(rank_asked(), 0u) << "what was asked for";
  EXPECT_EQ(Glim({"logs", "2"}).exit_code, 3);
}

TEST_F(FollowTest, CtrlCEndsAFollowedLogCleanly) {
  {
    const auto state = server_.Lock();
    auto* attempt = AddJob(state.state, 1, "running").add_attempts();
    attempt->mutable_ref()->set_number(1);
    attempt->set_state("running");
    attempt->set_started_at_ms(1);
    state->logs[1] = "hello\n";
    state->hold_log = true;
  }
  GlimProcess process({"logs", "-f", "1"}, Options());
  ASSERT_TRUE(process.AwaitOutput("hello\n"));
  process.Signal(SIGINT);
  const GlimResult result = process.Finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "hello\n");
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace glim::cli
