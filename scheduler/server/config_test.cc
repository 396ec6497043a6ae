#include "scheduler/server/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "scheduler/server/command_line.h"

namespace glim::server {
namespace {

TEST(ConfigTest, EveryPartCanBeSet) {
  Config config;
  const Status status = ReadConfigText(R"(
listen: 127.0.0.1:9000
metrics: none
store: sqlite:/var/lib/glim/glim.db
log_level: debug
history_kept: 7d
history_max: 50000
ended_jobs_max: 2000
policy:
  agree_max: 2s
  node_lost_after: 1500ms
  min_run_factor: 0
  outage_percent: 35
  master_port_first: 30000
  master_port_last: 31000
  default_user_quota: {normal: 8, high: 2}
  user_quota:
    kim: {high: 12, "20": 3}
  links:
    - {zone_a: A, zone_b: B, jobs_max: 2, pairs_max: 4}
)", "test", &config);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config.listen, "127.0.0.1:9000");
  EXPECT_EQ(config.history_kept, Hours(24 * 7));
  EXPECT_EQ(config.history_max, 50'000u);
  EXPECT_EQ(config.ended_jobs_max, 2'000u);
  EXPECT_EQ(config.policy.agree_max, Seconds(2));
  EXPECT_EQ(config.policy.node_lost_after, Milliseconds(1500));
  EXPECT_EQ(config.policy.min_run_factor, 0);
  EXPECT_EQ(config.policy.outage_percent, 35u);
  EXPECT_EQ(config.policy.master_port_last, 31000);
  EXPECT_EQ(config.policy.default_user_quota.For(core::PriorityClass::kHigh), 2u);
  EXPECT_EQ(config.policy.default_user_quota.For(core::PriorityClass::kLow), core::kUnlimited);
  EXPECT_EQ(config.policy.user_quota.at("kim").For(core::PriorityClass::kAboveNormal), 3u);
  ASSERT_EQ(config.policy.links.size(), 1u);
  EXPECT_EQ(config.policy.links[0].pairs_max, 4u);
  EXPECT_TRUE(CheckConfig(config).ok());
  config.cluster_id = "a b";
  EXPECT_EQ(CheckConfig(config).field(), "cluster_id");
}

TEST(ConfigTest, RefusalsNameThePath) {
  const struct {
    const char* text;
    const char* path;
  } cases[] = {
      {"listn: 127.0.0.1:1", "listn"},
      {"history_max: 10", "history_max"},
      {"policy: {agree_maxx: 1s}", "policy.agree_maxx"},
      {"policy: {agree_max: soon}", "policy.agree_max"},
      {"policy: {agree_max: 10}", "policy.agree_max"},
      {"policy: {outage_percent: 101}", "policy.outage_percent"},
      {"policy: {outage_percent: -1}", "policy.outage_percent"},
      {"policy: {outage_percent: 1.5}", "policy.outage_percent"},
      {"policy: {min_run_factor: [1]}", "policy.min_run_factor"},
      {"policy: {default_user_quota: {urgent: 1}}", "policy.default_user_quota.urgent"},
      {"policy: {user_quota: {kim: {high: many}}}", "policy.user_quota.kim.high"},
      {"policy: {links: [{zone_a: A, zone_b: B}, {zone_a: A, zoneb: B}]}", "policy.links[1].zoneb"},
      {"policy: {links: [{zone_a: A, zone_b: A}]}", "policy.links[0]"},
      {"policy: [1]", "policy"},
      {"store: a\nstore: b", "store"},
      {"listen: {a: b}", "listen"},
  };
  for (const auto& c : cases) {
    Config config;
    const Status status = ReadConfigText(c.text, "test", &config);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.text;
    EXPECT_EQ(status.field(), c.path) << c.text;
  }
  Config config;
  EXPECT_FALSE(ReadConfigText("a: [", "test", &config).ok());
  EXPECT_TRUE(ReadConfigText("", "test", &config).ok());
}

TEST(ConfigTest, ListeningBeyondThisMachineMustBeAskedFor) {
  Config config;
  config.store = "memory";
  for (const char* here : {"127.0.0.1:1", "127.8.9.1:0", "[::1]:80", "localhost:7601", "unix:/tmp/s"}) {
    EXPECT_TRUE(IsLoopback(here)) << here;
    config.listen = here;
    EXPECT_TRUE(CheckConfig(config).ok()) << here;
  }
  for (const char* beyond : {"0.0.0.0:1", "[::]:1", "10.0.0.1:7601", "127.evil.example:1", "example.org:1"}) {
    EXPECT_FALSE(IsLoopback(beyond)) << beyond;
    config.listen = beyond;
    config.allow_insecure_listen = false;
    EXPECT_EQ(CheckConfig(config).field(), "listen") << beyond;
    config.allow_insecure_listen = true;
    EXPECT_TRUE(CheckConfig(config).ok()) << beyond;
  }
  for (const char* nonsense : {"", "7601", ":7601", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:7601x"}) {
    config.listen = nonsense;
    EXPECT_FALSE(CheckConfig(config).ok()) << nonsense;
  }
  config.listen = "127.0.0.1:0";
  config.log_level = "loud";
  EXPECT_EQ(CheckConfig(config).field(), "log_level");
}

TEST(ConfigTest, TheStoreHasAPlaceByDefault) {
  EXPECT_EQ(*DefaultStoreUrl("/state", "/home/kim"), "sqlite:/state/glim/glim.db");
  EXPECT_EQ(*DefaultStoreUrl(nullptr, "/home/kim"), "sqlite:/home/kim/.local/state/glim/glim.db");
  EXPECT_EQ(*DefaultStoreUrl("relative", "/home/kim"), "sqlite:/home/kim/.local/state/glim/glim.db");
  EXPECT_FALSE(DefaultStoreUrl(nullptr, nullptr).ok());
}

TEST(ConfigTest, FlagsGoOverTheFile) {
  const auto path = std::filesystem::temp_directory_path() / ("glim-server-config-" + std::to_string(::getpid()));
  std::ofstream(path) << "listen: 127.0.0.1:1111\nmetrics: none\nstore: memory\n";
  const std::string file = path.string();
  const char* argv[] = {"glim-scheduler", "--config",    file.c_str(), "--listen",
                        "127.0.0.1:2222", "--port-file", "/tmp/p"};
  const auto line = ParseCommandLine(7, argv);
  std::filesystem::remove(path);
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_FALSE(line->exit_code);
  EXPECT_EQ(line->config.listen, "127.0.0.1:2222");
  EXPECT_EQ(line->config.metrics, "none");
  EXPECT_EQ(line->config.store, "memory");
  EXPECT_EQ(line->config.port_file, "/tmp/p");
  const char* missing[] = {"glim-scheduler", "--config", "/nonexistent/glim.yaml"};
  EXPECT_FALSE(ParseCommandLine(3, missing).ok());
}

}  // namespace
}  // namespace glim::server
