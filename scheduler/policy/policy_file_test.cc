#include "scheduler/policy/policy_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

namespace glim::server {
namespace {

constexpr char kEverything[] = R"(
# None of it the default; the amounts have a test of their own (policy_numbers_test.cc)
quantum_min: 5m
grace_cap: {others: 1m, low: 10s, "50": 15m}
max_grace_cap: 20m
time_max: {a100: 2d, "007": 1h}
checkpoint_root: /shared/glim
logs_root: /shared/logs
checkpoint_retention: {succeeded: 2d, failed: 3d, cancelled: 4h, bytes_max: 2TiB, every: 10m}
task_users: {allow_uids: [33], allow_gids: [44, 109]}
price: {unit: credits, per_gpu_hour: {default: 1.5, pools: {a100: 2.25, "007": 0}}}
health:
  blame_window: 2m
  no_progress_min: 20m
  no_progress_gaps: 5
  validate: {on_join: true, after_repair: false, suspects: false, every: 7d, full: true,
             baselines: [{pool: "007", expected: {cpu.piece: 1.5}}]}
  lemons: {within: 14d, avoid_times: 3, large_nodes: 16, cordon_times: 0}
  idle_gpus: {warn_after: 30m, suspend_after: 2h}
  rules:
    - {check: xid, codes: [79, 5], verdict: drained, ends: gpu_failure, repair: 'say "hm" \ look'}
    - {check: xid, codes: [31], verdict: out, ends: node_failure, times: 4, users: 2, within: 2d}
    - {check: link_down, ends: network}
notify:
  webhooks: {team-chat: {url: "https://chat.example/a?b=\"c", secret_file: /etc/glim/team-chat.secret}}
  commands: {pager: {path: /usr/local/bin/page, user: "991"}}
pools: [default, a100, "007"]
zones: [A, B]
quotas:
  default_user: {normal: 8, high: 2}
  users:
    kim: {high: 4, "20": 3}
    "007": {}
    null-ish.x_y: {low: 0}
  teams:
    vision: {users: {high: 2}, total: {high: 16}, weight: 200}
    audio: {weight: 50}
  pools:
    default: {extreme_high: 32}
links:
  - {zone_a: A, zone_b: B, jobs_max: 2, pairs_max: 4}
)";

TEST(PolicyFileTest, WhatHasAStructureIsRead) {
  const auto file = ReadPolicyText(kEverything, "p.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const core::Policy& p = file->policy;
  EXPECT_EQ(p.default_user_quota.nodes.at(core::PriorityClass::kHigh), 2u);
  EXPECT_FALSE(p.default_user_quota.nodes.contains(core::PriorityClass::kLow));
  EXPECT_EQ(p.user_quota.at("kim").nodes.at(core::PriorityClass::kAboveNormal), 3u);
  EXPECT_TRUE(p.user_quota.at("007").nodes.empty());
  EXPECT_EQ(p.user_quota.at("null-ish.x_y").nodes.at(core::PriorityClass::kLow), 0u);
  EXPECT_EQ(p.team_user_quota.at("vision").nodes.at(core::PriorityClass::kHigh), 2u);
  EXPECT_EQ(p.team_quota.at("vision").nodes.at(core::PriorityClass::kHigh), 16u);
  EXPECT_FALSE(p.team_quota.contains("audio"));
  EXPECT_EQ(p.team_weight, (std::map<std::string, std::uint32_t>{{"audio", 50}, {"vision", 200}}));
  EXPECT_EQ(p.pool_quota.at("default").nodes.at(core::PriorityClass::kExtremeHigh), 32u);
  ASSERT_EQ(p.links.size(), 1u);
  EXPECT_EQ(p.links[0].zone_b, "B");
  EXPECT_EQ(p.links[0].jobs_max, 2u);
  EXPECT_EQ(p.links[0].pairs_max, 4u);
  EXPECT_EQ(p.grace_cap.For(core::PriorityClass::kLow), Seconds(10));
  EXPECT_EQ(p.grace_cap.For(core::PriorityClass::kExtremeHigh), Minutes(15));
  EXPECT_EQ(p.grace_cap.For(core::PriorityClass::kNormal), Minutes(1));
  EXPECT_EQ(p.max_grace_cap.For(core::PriorityClass::kLow), Minutes(20));
  EXPECT_EQ(p.time_max, (std::map<std::string, Duration>{{"007", Hours(1)}, {"a100", Hours(48)}}));
  EXPECT_EQ(p.checkpoint_root, "/shared/glim");
  EXPECT_EQ(p.checkpoint_retention,
            (core::SaveRetention{false, Hours(48), Hours(72), Hours(4), std::int64_t{2} << 40, Minutes(10)}));
  EXPECT_EQ(p.logs_root, "/shared/logs");
  EXPECT_EQ(p.price, (core::Price{"credits", 1500, {{"007", 0}, {"a100", 2250}}}));
  EXPECT_EQ(p.notify.webhooks.at("team-chat"),
            (core::NotifyWebhook{"https://chat.example/a?b=\"c", "/etc/glim/team-chat.secret"}));
  EXPECT_EQ(p.notify.commands.at("pager"), (core::NotifyCommand{"/usr/local/bin/page", "991"}));
  EXPECT_EQ(p.task_users, (core::TaskUsersPolicy{{33}, {44, 109}}));
  EXPECT_EQ(p.health.rules.size(), 3u);  // policy_health_test.cc
  EXPECT_EQ(file->names.pools, (std::set<std::string>{"007", "a100", "default"}));
}

TEST(PolicyFileTest, WhatIsShownReadsBackToTheSame) {
  for (const char* text : {"", "checkpoint_retention: forever", kEverything}) {
    const auto file = ReadPolicyText(text, "p.yaml");
    ASSERT_TRUE(file.ok());
    const std::string shown = PolicyYaml(*file);
    const auto again = ReadPolicyText(shown, "shown");
    ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << shown;
    EXPECT_TRUE(DiffPolicies(*file, *again).empty()) << ChangesInWords(DiffPolicies(*file, *again));
    EXPECT_EQ(PolicyYaml(*again), shown);
  }
}

struct Refusal {
  const char* text;
  const char* place;
  const char* field;
  const char* fix;
};

const Refusal kRefusals[] = {
    {"agree_max: 2s\nagree_maxx: 1s", "2:1", "agree_maxx", "did you mean 'agree_max'?"},
    {"frobnicate: 1", "1:1", "frobnicate", "known here: "},
    {"default_user_quota: {high: 1}", "1:1", "default_user_quota", ""},
    {"\nagree_max: soon", "2:12", "agree_max", "write it like 250ms"},
    {"grace_cap: {highest: 5m}", "1:13", "grace_cap.highest", "or others"},
    {"grace_cap: {auto: 5m}", "1:13", "grace_cap.auto", "name a class, or others"},
    {"grace_cap: {high: 5m, '30': 6m}", "1:23", "grace_cap.30", "keep one"},
    {"grace_cap: {others: 25h}", "1:21", "grace_cap.others", "use"},
    {"time_max: 2d", "1:11", "time_max", "write it like {debug: 1h}"},
    {"time_max: {debug: 0s}", "1:19", "time_max.debug", "use 1s to 365d"},
    {"agree_max: 10", "1:12", "agree_max", "write it like 250ms"},
    {"agree_max: 99999999999999999999d", "1:12", "agree_max", "write it like"},
    {"agree_max: 1000d", "1:12", "agree_max", "use 100ms to 1d"},
    {"checkpoint_retention: 30d", "1:23", "checkpoint_retention", "or forever to remove nothing"},
    {"checkpoint_retention: {failed: 0s}", "1:32", "checkpoint_retention.failed", "use 1s to 3650d"},
    {"checkpoint_retention: {bytes_max: 5}", "1:35", "checkpoint_retention.bytes_max", ", or none"},
    {"unfinished_spec_bytes_max: 100000000", "1:28", "unfinished_spec_bytes_max", "with KiB, MiB, GiB or TiB"},
    {"unfinished_spec_bytes_per_user_max: 1023KiB", "1:37", "unfinished_spec_bytes_per_user_max", "use 1MiB to 1TiB"},
    {"task_users: {allow_uids: [33, 0]}", "1:31", "task_users.allow_uids[1]", "its user's rights and no more"},
    {"task_users: {allow_gids: [0]}", "1:27", "task_users.allow_gids[0]", "its user's rights and no more"},
    {"task_users: {allow_uids: [65534]}", "1:27", "task_users.allow_uids[0]", "take it out"},
    {"task_users: {allow_gids: [4294967295]}", "1:27", "task_users.allow_gids[0]", "take it out"},
    {"task_users: {allow_uids: [4294967295]}", "1:27", "task_users.allow_uids[0]", "take it out"},
    {"task_users: {allow_uids: [33, 4294900000]}", "1:31", "task_users.allow_uids[1]", "take it out"},
    {"task_users: {allow_gids: [4294900000]}", "1:27", "task_users.allow_gids[0]", "take it out"},
    {"task_users: {allow_gids: [44, 44]}", "1:31", "task_users.allow_gids[1]", "keep one"},
    {"task_users: {allow_gids: video}", "1:26", "task_users.allow_gids", "write it like [44, 109]"},
    {"task_users: {allow_users: [33]}", "1:14", "task_users.allow_users", "did you mean 'allow_uids'?"},
    {"price: 3", "1:8", "price", "or none"},
    {"price: {per_gpu_hour: {default: 1}}", "1:8", "price.unit", "name what is counted"},
    {"price: {unit: x, per_gpu_hour: {pools: {a: -1}}}", "1:44", "price.per_gpu_hour.pools.a", "use 0 to"},
    {"notify: {webhooks: {a: {url: 'http://chat.example', secret_file: /s}}}", "1:30", "notify.webhooks.a.url",
     "write an https address"},
    {"notify: {webhooks: {a: {url: 'https://x:99999', secret_file: /s}}}", "1:30", "notify.webhooks.a.url",
     "a port of 1 to 65535"},
    {"notify: {webhooks: {a: {url: 'https://x/#y', secret_file: /s}}}", "1:30", "notify.webhooks.a.url", "a fragment"},
    {"notify: {webhooks: {a: {url: 'https://x'}}}", "1:24", "notify.webhooks.a.secret_file", "mode 0600"},
    {"notify: {webhooks: {a: {secret_file: s}}}", "1:38", "notify.webhooks.a.secret_file", "write it from / on"},
    {"notify: {webhooks: {'a b': {}}}", "1:21", "notify.webhooks", "use 1 to 64"},
    {"notify: {commands: {p: {path: /bin/p, user: root}}}", "1:45", "notify.commands.p.user", "a user of its own"},
    {"notify: {commands: {p: {path: /bin/p, user: '00'}}}", "1:45", "notify.commands.p.user", "a user of its own"},
    {"notify: {commands: {p: {path: /bin/../p, user: x}}}", "1:31", "notify.commands.p.path", "without '.' or '..'"},
    {"notify: {commands: {p: {path: /bin/p}}}", "1:24", "notify.commands.p.user", "a user of its own"},
    {"notify: {webhooks: {a: {url: 'https://x', secret_file: /s}}, commands: {a: {path: /p, user: x}}}", "1:9",
     "notify", "rename one"},
    {"checkpoint_retention: {done: 5d}", "1:24", "checkpoint_retention.done", "known here: "},
    {"quantum_min: [1s]", "1:14", "quantum_min", "write it like"},
    {"agree_max: 1s\nagree_max: 2s", "2:1", "agree_max", "keep one"},
    {"outage_percent: 101", "1:17", "outage_percent", "use 1 to 100"},
    {"outage_percent: 99999999999999999999", "1:17", "outage_percent", "use 1 to 100"},
    {"outage_percent: 1.5", "1:17", "outage_percent", "use 1 to 100"},
    {"agree_max: 1s\noutage_percent:\n\n", "2:1", "outage_percent", "use 1 to 100"},
    {"size_weight: -0.1", "1:14", "size_weight", "use 0 to 10, in steps"},
    {"size_weight: 0.1234", "1:14", "size_weight", "in steps of 0.001"},
    {"size_weight: .5", "1:14", "size_weight", "use 0 to 10"},
    {"size_weight: 1e3", "1:14", "size_weight", "use 0 to 10"},
    {"move_gain: 1000.5", "1:12", "move_gain", "use 0 to 1000"},
    {"preempt_gain: 0.9", "1:15", "preempt_gain", "use 1 to 1000"},
    {"enforce_time_limits: yes", "1:22", "enforce_time_limits", "true or false"},
    {"quantum_max: 5m\nquantum_min: 10m", "1:1", "quantum_max", "lower quantum_min"},
    {"quantum_min: 5h", "1:1", "quantum_max", "raise quantum_max"},
    {"agree_max: 1s\nmaster_port_last: 1025", "2:1", "master_port_last", "lower master_port_first"},
    {"master_port_first: 30000", "1:1", "master_port_last", "lower master_port_first"},
    {"master_port_first: 29999", "1:1", "master_port_last", "at least two ports"},
    {"[1, 2]", "1:1", "", "key: value"},
    {"a: 1\n---\nb: 1", "2:1", "", "keep one"},
    {"quotas: {default_user: {urgent: 1}}", "1:25", "quotas.default_user.urgent", "extreme_high"},
    {"quotas: {default_user: {auto: 1}}", "1:25", "quotas.default_user.auto", "name a class"},
    {"quotas: {default_user: {high: 1, '30': 2}}", "1:34", "quotas.default_user.30", "keep one"},
    {"quotas: {default_user: 8}", "1:24", "quotas.default_user", "{high: 4}"},
    {"quotas: {users: {kim: {high: many}}}", "1:30", "quotas.users.kim.high", "use 0 to"},
    {"quotas: {users: {kim: {high: -1}}}", "1:30", "quotas.users.kim.high", "use 0 to"},
    {"quotas: {users: {kim: {}, kim: {}}}", "1:27", "quotas.users.kim", "keep one"},
    {"quotas: {users: {'a b': {}}}", "1:18", "quotas.users", "A-Z a-z 0-9"},
    {"quotas: {users: [kim]}", "1:17", "quotas.users", "{kim: {high: 4}}"},
    {"quotas: {user: {}}", "1:10", "quotas.user", "did you mean 'users'?"},
    {"quotas:\n  teams:\n    vision: {weight: -5}", "3:22", "quotas.teams.vision.weight", "use 1 to 1000000"},
    {"quotas: {teams: {vision: {wieght: 5}}}", "1:27", "quotas.teams.vision.wieght", "did you mean 'weight'?"},
    {"quotas: {teams: {vision: {total: 16}}}", "1:34", "quotas.teams.vision.total", "{high: 4}"},
    {"links: {zone_a: A, zone_b: B}", "1:8", "links", "[{zone_a: A, zone_b: B}]"},
    {"links: [{zone_a: A, zone_b: B}, {zone_a: A, zoneb: B}]", "1:45", "links[1].zoneb", "did you mean 'zone_"},
    {"links:\n- {zone_a: A, zone_b: A}", "2:3", "links[0]", "two different zones"},
    {"links:\n- {zone_a: A}", "2:3", "links[0]", "give zone_a and zone_b"},
    {"links:\n- {zone_a: A, zone_b: B}\n- {zone_a: B, zone_b: A}", "3:3", "links[1]", "one link"},
    {"links: [{zone_a: A, zone_b: B, jobs_max: -1}]", "1:42", "links[0].jobs_max", "use 0 to 1000"},
    {"links: [{zone_a: A, zone_b: ''}]", "1:29", "links[0].zone_b", "A-Z a-z 0-9"},
    {"pools: default", "1:8", "pools", "[a, b]"},
    {"zones: [A, B, A]", "1:15", "zones[2]", "keep one"},
    {"pools: [[a]]", "1:9", "pools[0]", "A-Z a-z 0-9"},
    {"quotas: [", "", "", ""},
    {"quantum_min: '1m", "", "", ""},
    {"quotas: *nobody", "", "", ""},
    {"{quantum_min: 1m} {quantum_min: 2m}", "", "", ""},
    {"quantum_min: \x01", "1:14", "quantum_min", "remove it"},
};

TEST(PolicyFileTest, RefusalsSayWhereWhatAndHowToMendIt) {
  for (const Refusal& c : kRefusals) {
    const auto file = ReadPolicyText(c.text, "p.yaml");
    ASSERT_FALSE(file.ok()) << c.text;
    const Status& status = file.status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.text;
    EXPECT_EQ(status.reason(), "BAD_CONFIG") << c.text;
    EXPECT_EQ(status.message().find(std::string("p.yaml:") + c.place), 0u) << c.text << "\n" << status.message();
    EXPECT_EQ(status.field(), c.field) << c.text;
    EXPECT_NE(status.fix().find(c.fix), std::string::npos) << c.text << "\n" << status.fix();
    EXPECT_LT(status.message().size(), 300u) << c.text;
  }
}

TEST(PolicyFileTest, ARefusalChangesNothing) {
  const auto before = ReadPolicyText(kEverything, "p.yaml");
  ASSERT_TRUE(before.ok());
  PolicyFile file = *before;
  const auto bad = yaml::ParseOne("quantum_min: 1m\nquotas: {users: {lee: {high: 1}}}\nlinks: []\nagree_max: never\n",
                                  {"p.yaml", "BAD_CONFIG"});
  ASSERT_TRUE(bad.ok());
  EXPECT_FALSE(ReadPolicyMap(**bad, "", &file).ok());
  EXPECT_TRUE(DiffPolicies(*before, file).empty());
}

TEST(PolicyFileTest, AMillionUnfinishedJobsMayBeAllowed) {
  const auto file = ReadPolicyText("unfinished_jobs_max: 1000000\nunfinished_jobs_per_user_max: 1000000\n", "p.yaml");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->policy.unfinished_jobs_max, 1'000'000u);
  EXPECT_EQ(file->policy.unfinished_jobs_per_user_max, 1'000'000u);
}

TEST(PolicyFileTest, NothingInItIsTheDefaults) {
  const PolicyFile defaults;
  for (const char* text : {"", "# words\n", "---\n", "quotas:\n", "quotas: {teams: {}}\nlinks: []\n"}) {
    const auto file = ReadPolicyText(text, "p.yaml");
    ASSERT_TRUE(file.ok()) << text << file.status().message();
    EXPECT_TRUE(DiffPolicies(defaults, *file).empty()) << text;
  }
}

TEST(PolicyFileTest, ABaseHoldsWhatTheFileLeavesOut) {
  PolicyFile base;
  base.policy.enforce_time_limits = false;
  base.policy.quantum_min = Minutes(3);
  const auto file = ReadPolicyText("quantum_min: 4m", "p.yaml", base);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->policy.enforce_time_limits);
  EXPECT_EQ(file->policy.quantum_min, Minutes(4));
}

TEST(PolicyFileTest, TheDifferenceNamesEveryField) {
  const auto before = ReadPolicyText(
      "quantum_min: 5m\nquotas: {users: {kim: {high: 4}, lee: {low: 1}}}\nlinks: [{zone_a: B, zone_b: A}]", "a");
  const auto after = ReadPolicyText(
      "quantum_min: 300s\nswitch_cost: 1m\nquotas: {users: {kim: {high: 6}, may: {}}, teams: {vision: {weight: 7}}}\n"
      "links: [{zone_a: A, zone_b: B, jobs_max: 3}]\nzones: [A]",
      "b");
  ASSERT_TRUE(before.ok() && after.ok());
  const std::vector<PolicyChange> expected = {
      {"links.A-B.jobs_max", "1", "3"},  {"quotas.teams.vision.weight", "", "7"}, {"quotas.users.kim.high", "4", "6"},
      {"quotas.users.lee.low", "1", ""}, {"quotas.users.may", "", "no limit"},    {"switch_cost", "5m", "1m"},
      {"zones.A", "", "declared"}};
  EXPECT_EQ(DiffPolicies(*before, *after), expected);
  EXPECT_EQ(ChangesInWords(expected),
            "links.A-B.jobs_max 1 -> 3, quotas.teams.vision.weight added: 7, quotas.users.kim.high 4 -> 6, "
            "quotas.users.lee.low removed, was 1, quotas.users.may added: no limit, switch_cost 5m -> 1m, "
            "zones.A added: declared");
  EXPECT_EQ(ChangesInWords({}), "nothing");
  const std::vector<PolicyChange> many(100, {std::string(64, 'x'), "1", "2"});
  EXPECT_LT(ChangesInWords(many).size(), 1000u);
  EXPECT_NE(ChangesInWords(many).find(" more"), std::string::npos);
}

TEST(PolicyFileTest, PoolsAndZonesMustBeKnownOrDeclared) {
  const auto file = ReadPolicyText(
      "pools: [later]\nquotas:\n  pools:\n    later: {high: 1}\n    a10O: {high: 1}\nlinks:\n"
      "- {zone_a: A, zone_b: B}\n",
      "p.yaml");
  ASSERT_TRUE(file.ok());
  std::vector<std::string> warnings;
  const Status pool = CheckNames(file->names, {{"a100", "default"}, {"A", "B"}, true}, &warnings);
  EXPECT_EQ(pool.field(), "quotas.pools.a10O");
  EXPECT_EQ(pool.message(), "5:5: quotas.pools.a10O: no node of pool 'a10O' has ever registered");
  EXPECT_EQ(pool.fix(), "did you mean 'a100'? or declare it if it is still to come: glim admin pool set a10O");
  const Status zone = CheckNames(file->names, {{"a10O"}, {"A"}, true}, &warnings);
  EXPECT_EQ(zone.field(), "links[0].zone_b");
  EXPECT_EQ(zone.message().substr(0, 5), "7:23:");
  EXPECT_TRUE(CheckNames(file->names, {{"a10O"}, {"A", "B"}, true}, &warnings).ok());
  EXPECT_TRUE(warnings.empty());
  // A cluster that no node has joined yet.
  EXPECT_TRUE(CheckNames(file->names, {}, &warnings).ok());
  EXPECT_EQ(warnings.size(), 3u);
}

TEST(PolicyFileTest, AFileThatCannotBeReadIsNamed) {
  const auto file = ReadPolicyFile("/nonexistent/policy.yaml");
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
  EXPECT_NE(file.status().message().find("/nonexistent/policy.yaml"), std::string::npos);
  EXPECT_EQ(ReadPolicyFile("/").status().code(), StatusCode::kNotFound);  // a folder
}

}  // namespace
}  // namespace glim::server
