// The real program against a fake scheduler on a real socket: exit codes, what goes to stdout and what to stderr.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/rpc/config.h"
#include "cli/testing/cli_fixture.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(CliTest, UsageErrors) {
  Write("two.yaml", std::string(kSpec) + "---\n" + kSpec);
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"nonsense"},
      {"status"},
      {"status", "abc"},
      {"status", "0"},
      {"status", "-3"},
      {"queue", "--nonsense"},
      {"queue", "-o", "xml"},
      {"submit"},
      {"submit", "missing.yaml"},
      {"submit", "two.yaml", "--", "true"},
      {"submit", "two.yaml", "--nodes", "3"},
      {"submit", "--nodes", "0", "--", "true"},
      {"submit", "--grace", "soon", "--", "true"},
      {"submit", "--priority", "hihg", "--", "true"},
      {"queue", "--", "true"},
      {"queue", "--timeout", "soon"},
      {"queue", "--server", "http://somewhere:1"},
      {"queue", "--as", "two words"},
      {"admin"},
      {"admin", "node"},
  };
  for (const auto& line : lines) {
    const GlimResult result = Glim(line);
    EXPECT_EQ(result.exit_code, 2) << testing::PrintToString(line) << result.err;
    EXPECT_EQ(result.out, "") << testing::PrintToString(line);
    EXPECT_THAT(result.err, StartsWith("error: ")) << testing::PrintToString(line);
  }
}

TEST_F(CliTest, HelpAndVersionGoToStdout) {
  const GlimResult help = Glim({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("submit"));
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(Glim({"submit", "--help"}).out, HasSubstr("--dry-run"));
  EXPECT_THAT(Glim({"--version"}).out, StartsWith("glim "));
  EXPECT_THAT(Glim({"version"}).out, HasSubstr("server 9.8.7"));
}

TEST_F(CliTest, EveryRefusalHasItsExitCode) {
  struct Case {
    grpc::StatusCode code;
    const char* reason;
    int exit_code;
  };
  const Case cases[] = {
      {grpc::StatusCode::INVALID_ARGUMENT, "INVALID_SPEC", 2},
      {grpc::StatusCode::NOT_FOUND, "NO_SUCH_JOB", 3},
      {grpc::StatusCode::UNAUTHENTICATED, "", 4},
      {grpc::StatusCode::PERMISSION_DENIED, "NOT_YOURS", 4},
      {grpc::StatusCode::ALREADY_EXISTS, "", 5},
      {grpc::StatusCode::ABORTED, "", 5},
      {grpc::StatusCode::FAILED_PRECONDITION, "INFEASIBLE", 6},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, "INFEASIBLE", 6},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, "", 1},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, "OVERLOADED", 8},
      {grpc::StatusCode::DEADLINE_EXCEEDED, "", 7},
      {grpc::StatusCode::UNAVAILABLE, "STOPPING", 8},
      {grpc::StatusCode::INTERNAL, "", 1},
      {grpc::StatusCode::UNIMPLEMENTED, "", 1},
  };
  for (const Case& c : cases) {
    Refuse(Refusal(c.code, "no", c.reason, "nodes", "use fewer"));
    for (const std::string command : {"status", "cancel"}) {
      const GlimResult result = Glim({command, "1"});
      EXPECT_EQ(result.exit_code, c.exit_code) << c.code << " " << c.reason << result.err;
      EXPECT_EQ(result.out, "");
      EXPECT_THAT(result.err, StartsWith("error: "));
      const std::string reason = *c.reason == '\0' ? "  [" : std::string("  [") + c.reason + "]\n";
      EXPECT_THAT(result.err, HasSubstr(reason));
    }
  }
}

TEST_F(CliTest, ARefusalSaysWhatWhyFieldAndFix) {
  Refuse(Refusal(grpc::StatusCode::FAILED_PRECONDITION, "24 nodes requested, pool h800 has 16\nrunning: \x1b[31m812",
                 "INFEASIBLE", "nodes", "use at most 16 nodes"));
  const GlimResult text = Glim({"submit", "--", "true"});
  EXPECT_EQ(text.exit_code, 6);
  EXPECT_EQ(text.err,
            "error: 24 nodes requested, pool h800 has 16  [INFEASIBLE]\n  running: \\x1b[31m812\n  field: nodes\n"
            "  fix: use at most 16 nodes\n");
  const GlimResult result = Glim({"-o", "json", "submit", "--", "true"});
  const json document = json::parse(result.err);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(document["error"]["reason"], "INFEASIBLE");
  EXPECT_EQ(document["error"]["code"], "FAILED_PRECONDITION");
  EXPECT_EQ(document["error"]["field"], "nodes");
  EXPECT_EQ(document["error"]["exit_code"], 6);
}

TEST_F(CliTest, AWordThatIsNoCommandIsToldSo) {
  EXPECT_EQ(Glim({"cancle", "3"}).err,
            "error: 'cancle' is no command of 'glim'  [USAGE]\n  fix: did you mean 'glim cancel'?\n");
  EXPECT_EQ(Glim({"-o", "table", "frobnicate"}).err,
            "error: 'frobnicate' is no command of 'glim'  [USAGE]\n  fix: 'glim --help' lists them\n");
  EXPECT_THAT(Glim({"admin", "node", "retrun", "n1"}).err, HasSubstr("did you mean 'glim admin node return'?"));
  EXPECT_THAT(Glim({}).err, HasSubstr("no command was given after 'glim'"));
  EXPECT_THAT(Glim({"admin", "node"}).err, HasSubstr("no command was given after 'glim admin node'"));
  EXPECT_THAT(Glim({"queue", "--nonsense"}).err, HasSubstr("--nonsense"));
  EXPECT_THAT(Glim({"submit", "--grace", "60", "--", "true"}).err, HasSubstr("'60' has no unit"));
}

TEST_F(CliTest, SeveralJobsAreAllTriedAndTheFailingOnesNamed) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 1, "running");
    AddJob(state.state, 3, "running");
  }
  const GlimResult some = Glim({"cancel", "1", "2", "3"});
  EXPECT_EQ(some.exit_code, 3);
  EXPECT_THAT(some.err, HasSubstr("job 3 is cancelling\njob 1 is cancelling\nerror: no job 2"));
  const GlimResult more = Glim({"suspend", "8", "1", "9"});
  EXPECT_EQ(more.exit_code, 3);
  EXPECT_THAT(more.err, HasSubstr("error: 2 of 3 jobs were not suspended  [NO_SUCH_JOB]\n  no job 8\n  no job 9\n"));
  EXPECT_EQ(Glim({"resume", "1", "3", "-o", "json"}).out,
            "{\"version\":2,\"job_id\":1,\"state\":\"queued\"}\n{\"version\":2,\"job_id\":3,\"state\":\"queued\"}\n");
  EXPECT_EQ(Glim({"cancel", "1", "x"}).exit_code, 2);
  EXPECT_EQ(server_.Lock()->jobs[1].state(), "queued") << "nothing was done";

  {
    const auto state = server_.Lock();
    AddJob(state.state, 1, "succeeded");
    AddJob(state.state, 2, "failed").set_message("exited with code 7");
    AddJob(state.state, 3, "cancelled");
  }
  EXPECT_EQ(Glim({"wait", "1", "1"}).exit_code, 0);
  const GlimResult verdict = Glim({"wait", "2", "1", "3"});
  EXPECT_EQ(verdict.exit_code, 1);
  EXPECT_THAT(verdict.err, HasSubstr("2 of 3 jobs did not succeed"));
  EXPECT_THAT(verdict.err, HasSubstr("job 2 failed: exited with code 7\n  job 3 was cancelled"));
}

TEST_F(CliTest, UsageErrorsAreJsonToo) {
  const json document = json::parse(Glim({"nonsense", "-o", "json"}).err);
  EXPECT_EQ(document["error"]["reason"], "USAGE");
}

TEST_F(CliTest, AnUnreachableServerIsToldAtOnce) {
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"queue"}, {"submit", "--", "true"}, {"logs", "-f", "1"}, {"wait", "1"}, {"version"}}) {
    auto arguments = line;
    arguments.insert(arguments.begin(), {"--server", "127.0.0.1:1"});
    const GlimResult result = Glim(arguments);
    EXPECT_EQ(result.exit_code, 8) << result.err;
    EXPECT_LT(result.took, Slower(std::chrono::seconds(30))) << line[0];
    EXPECT_THAT(result.err, HasSubstr("127.0.0.1:1 cannot be reached"));
    EXPECT_THAT(result.err, HasSubstr("[UNREACHABLE]"));
  }
}

TEST_F(CliTest, QueueTurnsAllPages) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 1, "running");
    AddJob(state.state, 2, "succeeded");
    AddJob(state.state, 3, "queued").set_user("lee");
  }
  EXPECT_EQ(json::parse(Glim({"queue", "-o", "json"}).out)["jobs"].size(), 2u);
  EXPECT_EQ(json::parse(Glim({"ps", "-a", "-o", "json"}).out)["jobs"].size(), 3u);
  EXPECT_EQ(json::parse(Glim({"queue", "--user", "lee", "-o", "json"}).out)["jobs"][0]["id"], 3);
  const GlimResult table = Glim({"queue"});
  EXPECT_THAT(table.out, StartsWith("JOB  NAME"));
  EXPECT_THAT(table.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(table.err, "");
}

TEST_F(CliTest, AnEmptyQueueIsWordsOnStderr) {
  const GlimResult table = Glim({"queue"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_EQ(table.out, "");
  EXPECT_EQ(json::parse(Glim({"queue", "-o", "json"}).out)["jobs"], json::array());
}

TEST_F(CliTest, StatusJoinsTheReceiptWithThePreemptorsWait) {
  {
    const auto state = server_.Lock();
    auto* attempt = AddJob(state.state, 1, "queued").add_attempts();
    attempt->mutable_ref()->set_number(1);
    attempt->set_outcome("interrupted");
    auto* agreement = attempt->add_agreements();
    agreement->mutable_preemptor()->set_job_id(2);
    agreement->mutable_preemptor()->set_number(1);
    auto* preemptor = AddJob(state.state, 2, "running").add_attempts();
    preemptor->mutable_ref()->set_number(1);
    preemptor->mutable_start()->set_save_ms(1234);
  }
  const json document = json::parse(Glim({"status", "1", "-o", "json"}).out);
  EXPECT_EQ(document["job"]["id"], 1);
  EXPECT_EQ(document["receipts"][0]["preemptor_wait"]["save_ms"], 1234);
  EXPECT_THAT(Glim({"status", "1"}).out, HasSubstr("save 1.2 s"));
  EXPECT_EQ(Glim({"status", "9"}).exit_code, 3);
}

TEST_F(CliTest, WhyShowsWhatWasTried) {
  {
    const auto state = server_.Lock();
    AddJob(state.state, 1, "queued");
    state->explanation.mutable_outlook()->set_ahead_count(2);
    auto* tried = state->explanation.add_counterfactuals();
    tried->set_change("nodes");
    tried->set_value("1");
    tried->set_message("with 1 node it starts now");
    tried->mutable_start()->add_victims()->set_job_id(4);
  }
  const std::string text = Glim({"why", "1"}).out;
  EXPECT_THAT(text, HasSubstr("before it    2 queued jobs"));
  EXPECT_THAT(text, HasSubstr("tried        with 1 node it starts now"));
  const json document = json::parse(Glim({"why", "1", "-o", "json"}).out);
  EXPECT_EQ(document["job_id"], 1);
  EXPECT_EQ(document["outlook"]["ahead_count"], 2);
  EXPECT_EQ(document["counterfactuals"][0]["start"]["victims"][0]["job_id"], 4);
  EXPECT_EQ(Glim({"why", "9"}).exit_code, 3);
}

// The scheduler answers one such question of a user at a time: another one's end is waited for.
TEST_F(CliTest, WhyWaitsForItsTurn) {
  AddJob(server_.Lock().state, 1, "queued");
  Refuse(Refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "another question of user kim is being answered", "OVERLOADED"));
  server_.Lock()->refusals_left = 2;
  const GlimResult result = Glim({"why", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("job 1 sft is queued"));
  Refuse(Refusal(grpc::StatusCode::RESOURCE_EXHAUSTED, "no", "ANOTHER_REASON"));
  server_.Lock()->refusals_left = 1;
  EXPECT_NE(Glim({"why", "1"}).exit_code, 0) << "only that is waited for";
}

TEST_F(CliTest, PlanSaysWhatASubmissionWouldComeTo) {
  {
    const auto state = server_.Lock();
    auto* job = state->plan.add_jobs();
    job->set_name("sft");
    job->mutable_start()->set_message("starts now");
    job->mutable_start()->add_nodes()->set_name("n3");
  }
  Write("job.yaml", "name: sft\nrun: x\nnodes: 2\nafter: [7:any]\nlimits: {time: 2h}\n");
  const GlimResult planned = Glim({"plan", "job.yaml", "--priority", "high"});
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_THAT(planned.out, HasSubstr("sft starts now"));
  EXPECT_THAT(planned.out, HasSubstr("n3"));
  EXPECT_THAT(planned.err, HasSubstr("nothing was submitted"));
  {
    const auto state = server_.Lock();
    ASSERT_EQ(state->plans.size(), 1u);
    const glim::v1::JobSpec& spec = state->plans[0].specs(0);
    EXPECT_EQ(spec.priority(), "high");
    EXPECT_EQ(spec.after(0).job_id(), 7u);
    EXPECT_EQ(spec.time_limit_ms(), 7'200'000);
    EXPECT_TRUE(state->submits.empty());
  }
  const json document = json::parse(Glim({"plan", "--json", "--", "python", "train.py"}).out);
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(document["jobs"][0]["starts_now"], true);
  EXPECT_EQ(document["jobs"][0]["start"]["nodes"][0]["name"], "n3");
  EXPECT_EQ(Glim({"plan"}).exit_code, 2);
}

TEST_F(CliTest, TheOtherCommandsAnswer) {
  {
    const auto state = server_.Lock();
    auto* blocker = AddJob(state.state, 1, "queued").add_blockers();
    blocker->set_kind("nodes_busy");
    blocker->set_message("2 of 4 nodes are free");
    auto& node = state->nodes.emplace_back();
    node.set_name("n1");
    node.mutable_labels()->set_gpu_count(8);
    node.mutable_labels()->set_simulated_gpus(true);
  }
  EXPECT_THAT(Glim({"why", "1"}).out, HasSubstr("2 of 4 nodes are free"));
  EXPECT_EQ(json::parse(Glim({"why", "1", "-o", "json"}).out)["blockers"][0]["kind"], "nodes_busy");
  EXPECT_THAT(Glim({"nodes"}).out, HasSubstr("8 (simulated)"));
  EXPECT_EQ(json::parse(Glim({"nodes", "-o", "json"}).out)["nodes"][0]["labels"]["simulated_gpus"], true);
  EXPECT_EQ(json::parse(Glim({"suspend", "1", "-o", "json"}).out)["state"], "suspending");
  EXPECT_EQ(Glim({"resume", "1"}).err, "job 1 is queued\n");
  EXPECT_EQ(json::parse(Glim({"-ojson", "cancel", "1"}).out)["state"], "cancelling");
  EXPECT_THAT(Glim({"admin", "status"}).out, HasSubstr("store       sqlite"));
  EXPECT_EQ(json::parse(Glim({"admin", "status", "-o", "json"}).out)["scheduler"]["epoch"], 3);
  EXPECT_EQ(Glim({"admin", "node", "return", "n1", "-y"}).exit_code, 0);
  EXPECT_EQ(server_.Lock()->returned_nodes, std::vector<std::string>{"n1"});
}

TEST_F(CliTest, FlagsBeatEnvironmentBeatsFiles) {
  Write("xdg/glim/config.yaml", "user: from-xdg\noutput: json\n");
  EXPECT_EQ(json::parse(Glim({"queue"}).out)["version"], 2);
  EXPECT_EQ(server_.Lock()->user, "from-xdg");
  Write(".glim.yaml", "user: from-folder\n");
  EXPECT_EQ(Glim({"queue", "-o", "table"}).out, "");
  EXPECT_EQ(server_.Lock()->user, "from-folder");
  env_["GLIM_USER"] = "from-env";
  Glim({"queue"});
  EXPECT_EQ(server_.Lock()->user, "from-env");
  Glim({"--as", "from-flag", "queue"});
  EXPECT_EQ(server_.Lock()->user, "from-flag");
  Write(".glim.yaml", "insecure_without_identity: true\n");
  EXPECT_THAT(Glim({"queue", "-o", "table"}).err, HasSubstr("does not say whom to trust"));
  Write(".glim.yaml", "sever: 127.0.0.1:1\n");
  const GlimResult bad = Glim({"queue", "-o", "table"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("did you mean 'server'?"));
}

// Whoever listens at the port that a number too large stands for is nobody's scheduler.
TEST_F(CliTest, AnAddressThatIsNoneIsRefusedWhereverItIsWritten) {
  const auto refused = [](const GlimResult& result) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, HasSubstr("write HOST:PORT, an IPv6 address in brackets: [::1]:7601"));
  };
  for (const std::string address : {"[::1]", "::1", "::1:7601", "localhost", "localhost:99999", "localhost:0",
                                    "localhost:7601/", "localhost: 7601", "https://localhost:7601", ":7601"}) {
    SCOPED_TRACE(address);
    refused(Glim({"--server", address, "queue"}));
    refused(Glim({"login", "--server", address}));
    env_["GLIM_SERVER"] = address;
    refused(Glim({"queue"}));
    env_["GLIM_SERVER"] = "";  // as if it were not set
    Write("xdg/glim/config.yaml", "server: '" + address + "'\n");
    refused(Glim({"queue"}));
    Write("xdg/glim/config.yaml", "");
    env_.erase("GLIM_SERVER");
  }
}

TEST_F(CliTest, ALocalConfigThatOthersMayWriteIsLeftOut) {
  Write(".glim.yaml", "server: 127.0.0.1:1\nuser: evil\n");
  std::filesystem::permissions(folder_ + "/.glim.yaml", std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  const GlimResult result = Glim({"queue"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(server_.Lock()->user, LoginName());
  EXPECT_THAT(result.err, HasSubstr(".glim.yaml is left out"));
}

TEST_F(CliTest, AFullDiskIsAFailure) {
  AddJob(server_.Lock().state, 1, "running");
  const std::string glim = BuiltFile("bin/glim --insecure-without-identity --server ");
  const std::string command = glim + server_.address() + " queue >/dev/full 2>" + folder_ + "/err";
  const int status = std::system(command.c_str());  // NOLINT: a shell's redirection is what is tested
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

}  // namespace
}  // namespace glim::cli
