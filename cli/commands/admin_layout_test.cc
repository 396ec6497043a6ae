// glim admin pool, zone, link, and get, diff and set --file of all rows, against a fake scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/testing/cli_fixture.h"

namespace glim::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class AdminLayoutTest : public CliTest {
 protected:
  AdminLayoutTest() {
    const auto state = server_.Lock();
    auto* a100 = state->layout.add_pools();
    a100->set_name("a100");
    a100->set_note("the racks of spring");
    a100->set_has_row(true);
    a100->set_nodes(3);
    auto* other = state->layout.add_pools();
    other->set_name("default");
    other->set_nodes(12);
    for (const char* zone : {"A", "B"}) {
      auto* row = state->layout.add_zones();
      row->set_name(zone);
      row->set_has_row(true);
    }
    auto* link = state->layout.add_links();
    link->set_zone_a("A");
    link->set_zone_b("B");
    link->set_jobs_max(1);
    link->set_pairs_max(2);
    link->set_jobs(1);
  }
  // The changes that were really asked for.
  std::vector<glim::v1::ChangeRowsRequest> Done() {
    std::vector<glim::v1::ChangeRowsRequest> done;
    for (const auto state = server_.Lock(); const auto& request : state->row_changes) {
      if (!request.dry_run()) done.push_back(request);
    }
    return done;
  }
  std::size_t Asked() { return server_.Lock()->row_changes.size(); }
};

TEST_F(AdminLayoutTest, TheListsAreTablesOrJson) {
  EXPECT_EQ(Glim({"admin", "pool", "ls"}).out,
            "POOL     NODES  ROW  NOTE\na100         3  yes  the racks of spring\ndefault     12  no\n");
  EXPECT_EQ(Glim({"admin", "zone", "list"}).out, "ZONE  NODES  ROW  NOTE\nA         0  yes\nB         0  yes\n");
  EXPECT_EQ(Glim({"admin", "link", "ls"}).out,
            "ZONES  JOBS MAX  PAIRS MAX  JOBS NOW\nA B           1          2         1\n");
  EXPECT_EQ(json::parse(Glim({"-o", "json", "admin", "link", "ls"}).out)["links"][0]["pairs_max"], 2);
}

TEST_F(AdminLayoutTest, GetPrintsWhatSetReads) {
  EXPECT_EQ(Glim({"admin", "pool", "get"}).out, "pools:\n  - {name: a100, note: \"the racks of spring\"}\n");
  EXPECT_EQ(Glim({"admin", "zone", "get", "B"}).out, "zones:\n  - {name: B}\n");
  EXPECT_EQ(Glim({"admin", "link", "get", "B", "A"}).out,
            "links:\n  - {zone_a: A, zone_b: B, jobs_max: 1, pairs_max: 2}\n");
  EXPECT_EQ(Glim({"admin", "pool", "get", "default"}).exit_code, 3) << "nodes are in it, but it has no row";
  EXPECT_EQ(Glim({"admin", "link", "get", "A"}).exit_code, 2);
  for (const char* kind : {"pool", "zone", "link"}) {
    for (const std::vector<std::string>& format : {std::vector<std::string>{}, {"-o", "json"}}) {
      std::vector<std::string> get = format;
      get.insert(get.end(), {"admin", kind, "get"});
      const GlimResult same = Glim({"admin", kind, "diff", "--file", "-", "--prune"}, Glim(get).out);
      EXPECT_EQ(same.exit_code, 0) << kind << same.out << same.err;
    }
  }
}

TEST_F(AdminLayoutTest, ARowIsSetAfterItsDifferenceWasShown) {
  const GlimResult unsure = Glim({"admin", "link", "set", "B", "A", "--jobs-max", "2"});
  EXPECT_EQ(unsure.exit_code, 2) << "no terminal, and no -y";
  EXPECT_TRUE(Done().empty());
  const GlimResult dry = Glim({"admin", "link", "set", "B", "A", "--jobs-max", "2", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.err;
  EXPECT_EQ(dry.out, "~ link A-B: jobs_max 1 -> 2\n");
  EXPECT_THAT(dry.err, HasSubstr("nothing was changed"));
  EXPECT_TRUE(Done().empty());

  const GlimResult done = Glim({"admin", "link", "set", "B", "A", "--jobs-max", "2", "-y"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  ASSERT_EQ(Done().size(), 1u);
  EXPECT_EQ(Done()[0].changes(0).link().jobs_max(), 2u);
  EXPECT_EQ(Done()[0].changes(0).link().pairs_max(), 2u) << "what is not given stays";
  EXPECT_EQ(Done()[0].expect(), "as shown") << "if somebody has changed it since, nothing is done";
  EXPECT_EQ(Glim({"admin", "pool", "set", "h100", "--note", "to come", "-y"}).out, "+ pool h100: note \"to come\"\n");
  EXPECT_EQ(Glim({"admin", "zone", "rm", "B", "-y"}).out, "- zone B\n");
  EXPECT_TRUE(Done().back().changes(0).remove());
}

TEST_F(AdminLayoutTest, WhatChangesNothingAsksForNothing) {
  const GlimResult same = Glim({"admin", "zone", "set", "A"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("nothing differs"));
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(AdminLayoutTest, WhatComesOfAChangeBeyondItsRowsIsShownToo) {
  server_.Lock()->row_meaning = "there is no link any more";
  const GlimResult gone = Glim({"admin", "link", "rm", "A", "B", "--dry-run"});
  EXPECT_EQ(gone.out, "- link A-B\nthere is no link any more\n");
}

TEST_F(AdminLayoutTest, ADifferenceIsExitCode1) {
  Write("rows.yaml", "pools:\n  - {name: a100}\n  - {name: h100}\nzones: []\n");
  const GlimResult diff = Glim({"admin", "pool", "diff", "--file", "rows.yaml"});
  EXPECT_EQ(diff.exit_code, 1);
  EXPECT_EQ(diff.out, "~ pool a100: note \"the racks of spring\" -> none\n+ pool h100\n");
  EXPECT_THAT(diff.err, HasSubstr("zones: 0 of the file's rows are not looked at here"));
  const json document = json::parse(Glim({"-o", "json", "admin", "pool", "diff", "--file", "rows.yaml"}).out);
  EXPECT_EQ(document["rows"][1]["object"], "pool h100");
  EXPECT_TRUE(document["rows"][1]["before"].is_null());

  Write("rows.yaml", "zones: [{name: A}]\n");
  const GlimResult fewer = Glim({"admin", "zone", "diff", "--file", "rows.yaml"});
  EXPECT_EQ(fewer.exit_code, 0);
  EXPECT_THAT(fewer.err, HasSubstr("1 row is not in the file, and stays: --prune"));
  const GlimResult pruned = Glim({"admin", "zone", "diff", "--file", "rows.yaml", "--prune"});
  EXPECT_EQ(pruned.exit_code, 1);
  EXPECT_EQ(pruned.out, "- zone B\n");
  EXPECT_TRUE(Done().empty()) << "a diff asks the scheduler what it would take, and changes nothing";
}

TEST_F(AdminLayoutTest, AFileIsAppliedAsOneChange) {
  Write("rows.yaml", "links:\n  - {zone_a: C, zone_b: A}\n  - {zone_a: A, zone_b: B, jobs_max: 4, pairs_max: 4}\n");
  const GlimResult done = Glim({"-o", "json", "admin", "link", "set", "--file", "rows.yaml", "-y"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_TRUE(json::parse(done.out)["changed"].get<bool>());
  ASSERT_EQ(Done().size(), 1u);
  EXPECT_EQ(Done()[0].changes_size(), 2);
  EXPECT_EQ(Done()[0].changes(0).link().jobs_max(), 1u) << "left out: the default";
}

TEST_F(AdminLayoutTest, UsersTeamsAndQuotasHaveFilesLikewise) {
  {
    const auto state = server_.Lock();
    auto* kim = state->accounts.add_users();
    kim->set_name("kim");
    kim->add_teams("vision");
    kim->set_role("user");
    kim->set_has_uid(true);
    kim->set_uid(1001);
    kim->set_gid(1001);
    auto* team = state->accounts.add_teams();
    team->set_name("vision");
    team->set_weight(200);
    auto* quota = state->accounts.add_quotas();
    quota->set_of("team_user");
    quota->set_subject("vision");
    quota->set_pool("*");
    quota->set_priority("high");
    quota->set_nodes(4);
  }
  EXPECT_EQ(Glim({"admin", "user", "get", "kim"}).out,
            "users:\n  - {name: kim, teams: [vision], uid: 1001, gid: 1001}\n");
  EXPECT_EQ(Glim({"admin", "team", "get"}).out, "teams:\n  - {name: vision, weight: 200}\n");
  EXPECT_EQ(Glim({"admin", "quota", "get", "team-user:vision"}).out,
            "quotas:\n  - {subject: \"team-user:vision\", class: high, nodes: 4}\n");
  Write("rows.yaml",
        "users: [{name: kim, teams: [vision, speech], uid: 1001}]\nteams: [{name: speech}]\nquotas:\n"
        "  - {subject: \"team-user:vision\", class: high, nodes: 6}\n"
        "  - {subject: everybody, class: low, pool: a100, nodes: 1}\n");
  EXPECT_EQ(Glim({"admin", "user", "diff", "--file", "rows.yaml"}).out,
            "~ user kim: teams [vision] -> [vision, speech]\n");
  EXPECT_EQ(Glim({"admin", "team", "set", "--file", "rows.yaml", "-y"}).out, "+ team speech: weight 100\n");
  EXPECT_EQ(Glim({"admin", "quota", "set", "--file", "rows.yaml", "-y"}).out,
            "~ quota team-user:vision high: nodes 4 -> 6\n+ quota everybody low in a100: nodes 1\n");
  EXPECT_EQ(Done().back().changes(1).quota().of(), "everybody");
}

TEST_F(AdminLayoutTest, WhatIsWrongInAFileIsToldByItsPlace) {
  const std::vector<std::pair<const char*, const char*>> files = {
      {"pools: [{name: a100}, {name: a100}]\n", "rows.yaml:1:23: pools[1]: pool a100 is there already"},
      {"pools: {a100: {}}\n", "rows.yaml:1:8: pools: must be a list"},
      {"pools: [{nam: a100}]\n", "pools[0].nam: unknown key"},
      {"pools: [{note: x}]\n", "pools[0]: does not say its name"},
      {"pool: []\n", "pool: unknown key"},
      {"zones: []\n", "rows.yaml has no section pools"},
      {"pools: [\n", "rows.yaml:"},
  };
  for (const auto& [text, words] : files) {
    Write("rows.yaml", text);
    const GlimResult bad = Glim({"admin", "pool", "set", "--file", "rows.yaml", "-y"});
    EXPECT_EQ(bad.exit_code, 2) << text;
    EXPECT_THAT(bad.err, HasSubstr(words)) << text;
  }
  Write("rows.yaml", "links: [{zone_a: A, zone_b: A}]\n");
  EXPECT_THAT(Glim({"admin", "link", "diff", "--file", "rows.yaml"}).err, HasSubstr("joins zone A with itself"));
  Write("rows.yaml", "users: [{name: kim, gid: 7}]\n");
  EXPECT_THAT(Glim({"admin", "user", "diff", "--file", "rows.yaml"}).err, HasSubstr("has a gid and no uid"));
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(AdminLayoutTest, ValuesOfAFileAreRefusedAtTheirPlaceByDiffAndSetAlike) {
  struct File {
    const char* kind;
    const char* text;
    const char* words;
  };
  const std::vector<File> files = {
      {"user", "users: [{name: kim, role: god}]\n", "rows.yaml:1:27: users[0].role: 'god' is no role"},
      {"user", "users: [{name: kim, teams: [v, v]}]\n", "rows.yaml:1:32: users[0].teams: v is there already"},
      {"user", "users: [{name: kim, admin_of: [v]}]\n", "users[0]: admin_of has v, which is none of"},
      {"team", "teams: [{name: v, pools: [default, default]}]\n", "teams[0].pools: default is there already"},
      {"quota", "quotas: [{subject: everybody, class: hihg, nodes: 1}]\n", "quotas[0].class: 'hihg' is no class"},
      {"quota", "quotas:\n- {subject: everybody, class: 30, nodes: 1}\n- {subject: everybody, class: high, nodes: 1}\n",
       "rows.yaml:3:3: quotas[1]: quota everybody high is there already"},
  };
  for (const File& file : files) {
    Write("rows.yaml", file.text);
    for (const char* verb : {"diff", "set"}) {
      const GlimResult bad = Glim({"admin", file.kind, verb, "--file", "rows.yaml"});
      EXPECT_EQ(bad.exit_code, 2) << file.text << bad.out;
      EXPECT_THAT(bad.err, HasSubstr(file.words)) << verb;
    }
  }
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(AdminLayoutTest, WhatTheSchedulerRefusesOfAFileIsToldByItsPlaceByDiffAndSetAlike) {
  Write("rows.yaml", "zones: [{name: A}]\npools:\n  - {name: a100, note: x}\n  - {name: h100}\n");
  const auto refusal = [](const std::string& message) {
    return Refusal(grpc::StatusCode::NOT_FOUND, message, "NO_SUCH_POOL", "pool", "declare it");
  };
  for (const std::vector<std::string>& verb : {std::vector<std::string>{"diff"}, {"set", "-y"}}) {
    server_.Lock()->rows_refusal = refusal("changes[1]: there is no pool h100");
    std::vector<std::string> words = {"admin", "pool"};
    words.insert(words.end(), verb.begin(), verb.end());
    words.insert(words.end(), {"--file", "rows.yaml"});
    const GlimResult bad = Glim(words);
    EXPECT_EQ(bad.exit_code, 3) << bad.out;
    EXPECT_THAT(bad.err, HasSubstr("rows.yaml:4:5: pools[1]: there is no pool h100"));
    EXPECT_THAT(bad.err, HasSubstr("fix: declare it"));
  }
  server_.Lock()->rows_refusal = refusal("it is in use");
  EXPECT_THAT(Glim({"admin", "pool", "rm", "a100", "-y"}).err, HasSubstr("pool a100: it is in use"));
  server_.Lock()->rows_refusal = Refusal(grpc::StatusCode::PERMISSION_DENIED, "you are no operator", "ROLE");
  const GlimResult viewer = Glim({"admin", "pool", "diff", "--file", "rows.yaml"});
  EXPECT_EQ(viewer.exit_code, 1) << "who may not change rows sees what differs";
  EXPECT_THAT(viewer.err, HasSubstr("whether the scheduler would take it was not asked: you are no operator"));
  EXPECT_EQ(Glim({"admin", "pool", "set", "--file", "rows.yaml", "-y"}).exit_code, 4);
}

TEST_F(AdminLayoutTest, AClassByNumberIsTheClassAndItsQuotaStays) {
  {
    const auto state = server_.Lock();
    auto* const quota = state->accounts.add_quotas();
    quota->set_of("everybody");
    quota->set_pool("*");
    quota->set_priority("above_normal");
    quota->set_nodes(4);
  }
  for (const char* word : {"20", "above-normal", "above_normal"}) {
    Write("rows.yaml", std::string("quotas: [{subject: everybody, class: ") + word + ", nodes: 4}]\n");
    const GlimResult same = Glim({"admin", "quota", "set", "--file", "rows.yaml", "--prune", "-y"});
    EXPECT_EQ(same.exit_code, 0) << word << same.err;
    EXPECT_THAT(same.err, HasSubstr("nothing differs")) << word;
  }
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(AdminLayoutTest, MoreRowsThanGoAtATimeAreRefusedWithAWayThatWorks) {
  std::string rows = "pools:\n";
  for (int i = 0; i <= 1000; ++i) {
    rows += "- {name: p" + std::to_string(i) + "}\n";
    const auto state = server_.Lock();
    auto* const pool = state->layout.add_pools();
    pool->set_name("q" + std::to_string(i));
    pool->set_has_row(true);
  }
  Write("rows.yaml", rows);
  const GlimResult many = Glim({"admin", "pool", "set", "--file", "rows.yaml", "-y"});
  EXPECT_EQ(many.exit_code, 2);
  EXPECT_THAT(many.err, HasSubstr("fix: split the file"));
  Write("rows.yaml", "pools: [{name: a100}]\n");
  const GlimResult prune = Glim({"admin", "pool", "set", "--file", "rows.yaml", "--prune", "-y"});
  EXPECT_EQ(prune.exit_code, 2);
  EXPECT_THAT(prune.err, HasSubstr("remove in steps of at most 1000: for each, leave the others in the file"));
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(AdminLayoutTest, OneRowIsAskedAboutInTheSingular) {
  GlimOptions options = Options();
  options.keyboard = true;
  GlimProcess glim({"admin", "zone", "rm", "B"}, options);
  EXPECT_TRUE(glim.AwaitError("- zone B\nchange this row? [y/N] "));
  glim.Type("n\n");
  EXPECT_EQ(glim.Finish().exit_code, 1);
  EXPECT_TRUE(Done().empty());
}

TEST_F(AdminLayoutTest, ARowIsNamedOrAFileIsAndNotBoth) {
  const std::vector<std::vector<std::string>> lines = {
      {"admin", "pool", "set"},
      {"admin", "pool", "set", "a100", "--file", "rows.yaml"},
      {"admin", "pool", "set", "a100", "--prune"},
      {"admin", "link", "set", "A"},
      {"admin", "link", "set", "A", "B", "--jobs-max", "1001"},
      {"admin", "user", "set"},
      {"admin", "team", "set"},
      {"admin", "quota", "set", "user:kim"},
      {"admin", "quota", "set", "user:kim", "high"},
  };
  for (const auto& line : lines) {
    EXPECT_EQ(Glim(line).exit_code, 2) << testing::PrintToString(line);
  }
  EXPECT_EQ(Asked(), 0u);
}

}  // namespace
}  // namespace glim::cli
