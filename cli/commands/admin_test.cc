// glim admin config and glim admin report against a fake scheduler: what is asked and what is shown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class AdminTest : public CliTest {
 protected:
  void AddChange(const std::string& field, const std::string& before, const std::string& after) {
    const auto state = server_.Lock();
    auto& change = state->policy_changes.emplace_back();
    change.set_field(field);
    change.set_before(before);
    change.set_after(after);
  }
  void AddRow(const std::string& kind, const std::string& name, std::uint32_t count, std::int64_t productive,
              std::int64_t free) {
    const auto state = server_.Lock();
    auto* row = state->report.add_rows();
    row->set_kind(kind);
    row->set_name(name);
    row->set_count(count);
    row->mutable_uses()->set_productive_gpu_ms(productive);
    row->mutable_uses()->set_free_gpu_ms(free);
    row->set_gpu_ms(productive + free);
    auto* total = state->report.mutable_total();
    total->set_productive_gpu_ms(total->productive_gpu_ms() + productive);
    total->set_free_gpu_ms(total->free_gpu_ms() + free);
    state->report.set_total_gpu_ms(state->report.total_gpu_ms() + productive + free);
    state->report.set_registered_gpu_ms(state->report.total_gpu_ms());
  }
};

TEST_F(AdminTest, ThePolicyIsPrintedAsItIs) {
  server_.Lock()->policy_yaml = "# words\nquantum_min: 10m\n";
  const GlimResult result = Glim({"admin", "config", "show"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "# words\nquantum_min: 10m\n");
  EXPECT_EQ(result.err, "");
  const json document = json::parse(Glim({"admin", "config", "show", "-o", "json"}).out);
  EXPECT_EQ(document["version"], 2);
  EXPECT_EQ(json::parse(Glim({"admin", "config", "show", "--json"}).out), document);
  EXPECT_EQ(document["yaml"], "# words\nquantum_min: 10m\n");
  EXPECT_EQ(document["source"], "/etc/glim/policy.yaml");
}

TEST_F(AdminTest, AReloadShowsTheDifference) {
  AddChange("quantum_min", "10m", "5m");
  AddChange("quotas.users.kim.high", "", "4");
  AddChange("quotas.users.lee.low", "1", "");
  server_.Lock()->policy_warnings = {"3:1: no node yet"};
  const GlimResult result = Glim({"admin", "config", "reload"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out,
            "FIELD                  BEFORE    AFTER\n"
            "quantum_min               10m       5m\n"
            "quotas.users.kim.high       -        4\n"
            "quotas.users.lee.low        1  removed\n");
  EXPECT_EQ(result.err, "warning: 3:1: no node yet\nin force now, from /etc/glim/policy.yaml\n");
  EXPECT_THAT(Glim({"admin", "config", "reload", "--dry-run"}).err, HasSubstr("nothing was changed"));
  const json document = json::parse(Glim({"admin", "config", "reload", "--json"}).out);
  EXPECT_EQ(document["changes"][0]["field"], "quantum_min");
  EXPECT_EQ(document["applied"], true);
  EXPECT_THAT(server_.Lock()->reloads, ElementsAre(false, true, false));
}

TEST_F(AdminTest, AReloadWithoutADifferenceSaysSo) {
  const GlimResult result = Glim({"admin", "config", "reload"});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "no change: /etc/glim/policy.yaml says what is in force\n");
}

TEST_F(AdminTest, ARefusedReloadNamesLineAndField) {
  Refuse(Refusal(grpc::StatusCode::INVALID_ARGUMENT, "/etc/glim/policy.yaml:3:9: quantum_min: is out of range",
                 "BAD_CONFIG", "quantum_min", "use 0s to 30d"));
  const GlimResult result = Glim({"admin", "config", "reload"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("/etc/glim/policy.yaml:3:9: quantum_min"));
  EXPECT_THAT(result.err, HasSubstr("fix: use 0s to 30d"));
}

TEST_F(AdminTest, TheReportIsATableThatSums) {
  server_.Lock()->report.set_by("pool");
  server_.Lock()->report.set_simulated_gpus(true);
  AddRow("pool", "a100", 2, 8'000, 2'000);
  AddRow("pool", "h100", 1, 0, 500);
  const GlimResult result = Glim({"admin", "report"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("POOL                  NODES  GPU-SECONDS  PRODUCTIVE"));
  EXPECT_THAT(result.out, HasSubstr("\na100                      2         10.0         8.0"));
  EXPECT_THAT(result.out, HasSubstr("\nall (some simulated)      -         10.5         8.0"));
  EXPECT_THAT(result.err, HasSubstr("10500 GPU-ms in the rows = 10500 GPU-ms registered"));
  EXPECT_EQ(json::parse(Glim({"admin", "report", "--json"}).out)["report"]["rows"][0]["name"], "a100");
  EXPECT_THAT(server_.Lock()->reports_by, ElementsAre("pool", "pool"));
}

TEST_F(AdminTest, RowsThatNameNobodyAreWords) {
  server_.Lock()->report.set_by("team");
  AddRow("team", "", 3, 360'000'000, 0);
  AddRow("others", "", 1, 36'000'000, 0);
  AddRow("no_job", "", 0, 0, 18'000'000);
  AddRow("forgotten", "", 0, 7'200'000, 0);
  const GlimResult result = Glim({"admin", "report", "--by", "team"});
  for (const char* word :
       {"GPU-HOURS", "(no team)", "(smaller ones)", "(no job)", "(jobs not kept any more)", "100.0"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
  EXPECT_THAT(server_.Lock()->reports_by, ElementsAre("team"));
}

TEST_F(AdminTest, AJobsOwnGpuTimeIsALineOfItsStatus) {
  {
    const auto state = server_.Lock();
    auto* uses = AddJob(state.state, 7, "running").mutable_uses();
    uses->set_productive_gpu_ms(7'200'000);
    uses->set_lost_gpu_ms(800'000);
  }
  EXPECT_THAT(Glim({"status", "7"}).out, HasSubstr("\ngpu time    2.2 GPU-hours: productive 90.0 %, lost 10.0 %\n"));
}

TEST_F(AdminTest, ANodeIsRemoved) {
  const GlimResult result = Glim({"admin", "node", "remove", "n1", "-y"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "node n1 is removed: a machine of that name may register\n");
  EXPECT_EQ(json::parse(Glim({"admin", "node", "remove", "--connected", "n2", "-y", "-o", "json"}).out)["removed"],
            true);
  const auto state = server_.Lock();
  ASSERT_EQ(state->removed_nodes.size(), 2u);
  EXPECT_EQ(state->removed_nodes[0].node(), "n1");
  EXPECT_FALSE(state->removed_nodes[0].connected());
  EXPECT_TRUE(state->removed_nodes[1].connected());
}

TEST_F(AdminTest, AnOutageSaysWhatToDoAndIsResolvedByHand) {
  server_.Lock()->nodes_silent = 3;
  const GlimResult status = Glim({"admin", "status"});
  EXPECT_THAT(status.out, HasSubstr("outage      yes: 3 nodes are silent"));
  EXPECT_THAT(status.out, HasSubstr("glim admin outage resolve"));
  {
    const auto state = server_.Lock();
    auto& node = state->nodes.emplace_back();
    node.set_name("n1");
    node.set_state("silent");
    node.mutable_holder()->set_job_id(7);
  }
  const GlimResult dry = Glim({"admin", "outage", "resolve", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("  - silent: n1\n  + judged lost\n  jobs that restart elsewhere, from their last "
                                 "save: 7\n"));
  EXPECT_EQ(server_.Lock()->nodes_silent, 3u);
  EXPECT_EQ(Glim({"admin", "outage", "resolve"}).exit_code, 2) << "no terminal, and no -y";
  EXPECT_EQ(server_.Lock()->nodes_silent, 3u);
  EXPECT_EQ(Glim({"admin", "outage", "resolve", "-y"}).err, "3 nodes are judged lost\n");
  EXPECT_THAT(Glim({"admin", "status"}).out, HasSubstr("outage      no\n"));
}

TEST_F(AdminTest, AReportThatDoesNotSumIsAFailure) {
  AddRow("pool", "a100", 2, 8'000, 2'000);
  server_.Lock()->report.set_registered_gpu_ms(10'001);
  const GlimResult result = Glim({"admin", "report", "-o", "json"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(json::parse(result.out)["report"]["total_gpu_ms"], 10'000);
  EXPECT_EQ(json::parse(result.err)["error"]["reason"], "LEDGER_BROKEN");
}

TEST_F(AdminTest, WithoutGpusThereIsNothingToReport) {
  EXPECT_THAT(Glim({"admin", "report"}).err, HasSubstr("no node with GPUs"));
}

}  // namespace
}  // namespace glim::cli
