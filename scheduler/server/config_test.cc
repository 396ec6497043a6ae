#include "scheduler/server/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "scheduler/server/command_line.h"
#include "sdk/base/host_port.h"

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
audit_kept: 90d
history_max: 50000
history_mib_max: 200
ended_jobs_max: 2000
log_tails_mib_max: 300
policy:
  agree_max: 2s
  node_lost_after: 1500ms
  min_run_factor: 0
  outage_percent: 35
  master_port_first: 30000
  master_port_last: 31000
  quotas:
    default_user: {normal: 8, high: 2}
    users:
      kim: {high: 12, "20": 3}
  links:
    - {zone_a: A, zone_b: B, jobs_max: 2, pairs_max: 4}
)",
                                       "test", &config);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config.listen, "127.0.0.1:9000");
  EXPECT_EQ(config.history_kept, Hours(24 * 7));
  EXPECT_EQ(config.audit_kept, Hours(24 * 90));
  EXPECT_EQ(config.history_max, 50'000u);
  EXPECT_EQ(config.history_mib_max, 200u);
  EXPECT_EQ(config.ended_jobs_max, 2'000u);
  EXPECT_EQ(config.log_tails_mib_max, 300u);
  EXPECT_EQ(config.policy.agree_max, Seconds(2));
  EXPECT_EQ(config.policy.node_lost_after, Milliseconds(1500));
  EXPECT_EQ(config.policy.min_run_factor, 0);
  EXPECT_EQ(config.policy.outage_percent, 35u);
  EXPECT_EQ(config.policy.master_port_last, 31000);
  EXPECT_EQ(config.policy.default_user_quota.nodes.at(core::PriorityClass::kHigh), 2u);
  EXPECT_FALSE(config.policy.default_user_quota.nodes.contains(core::PriorityClass::kLow));
  EXPECT_EQ(config.policy.user_quota.at("kim").nodes.at(core::PriorityClass::kAboveNormal), 3u);
  ASSERT_EQ(config.policy.links.size(), 1u);
  EXPECT_EQ(config.policy.links[0].pairs_max, 4u);
  EXPECT_TRUE(CheckConfig(config).ok());
  config.cluster_id = "a b";
  EXPECT_EQ(CheckConfig(config).field(), "cluster_id");
}

TEST(ConfigTest, WhatCallersMayTakeIsSetByUserByPeerAndForAll) {
  Config config;
  const Status status = ReadConfigText(R"(
limits:
  user: {requests_per_second: 100, calls: 50, streams: 4, reads: 2, queued_mib: 8}
  peer: {streams: 40, agent_streams: 16, agent_hellos: 8}
  all: {queued_mib: 64}
)",
                                       "test", &config);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(config.limits.At(BoundOf::kUser, Bound::kRequests), 100u);
  EXPECT_EQ(config.limits.At(BoundOf::kUser, Bound::kBytes), 8 * kMib);
  EXPECT_EQ(config.limits.At(BoundOf::kPeer, Bound::kAgentHellos), 8u);
  EXPECT_EQ(config.limits.At(BoundOf::kPeer, Bound::kCalls), Bounds().At(BoundOf::kPeer, Bound::kCalls));
  EXPECT_EQ(config.limits.At(BoundOf::kAll, Bound::kBytes), 64 * kMib);
  EXPECT_EQ(ReadConfigText("limits: {user: {agent_streams: 5}}", "t", &config).field(), "limits.user.agent_streams");
  EXPECT_EQ(ReadConfigText("limits: {peer: {streams: 0}}", "t", &config).field(), "limits.peer.streams");
  EXPECT_EQ(ReadConfigText("limits: {host: {streams: 1}}", "t", &config).field(), "limits.host");
}

TEST(ConfigTest, RefusalsNameThePath) {
  const struct {
    const char* text;
    const char* path;
  } cases[] = {
      {"listn: 127.0.0.1:1", "listn"},
      {"history_max: 10", "history_max"},
      {"history_mib_max: 15", "history_mib_max"},
      {"log_tails_mib_max: 0", "log_tails_mib_max"},
      {"policy: {agree_maxx: 1s}", "policy.agree_maxx"},
      {"policy: {agree_max: soon}", "policy.agree_max"},
      {"policy: {agree_max: 10}", "policy.agree_max"},
      {"policy: {outage_percent: 101}", "policy.outage_percent"},
      {"policy: {outage_percent: -1}", "policy.outage_percent"},
      {"policy: {outage_percent: 1.5}", "policy.outage_percent"},
      {"policy: {min_run_factor: [1]}", "policy.min_run_factor"},
      {"policy: {quotas: {default_user: {urgent: 1}}}", "policy.quotas.default_user.urgent"},
      {"policy: {quotas: {users: {kim: {high: many}}}}", "policy.quotas.users.kim.high"},
      {"policy: {quantum_min: 5h}", "policy.quantum_max"},
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
    EXPECT_TRUE(status.message().starts_with("test:")) << status.message();
  }
  Config config;
  EXPECT_FALSE(ReadConfigText("a: [", "test", &config).ok());
  EXPECT_TRUE(ReadConfigText("", "test", &config).ok());
}

TEST(ConfigTest, ListeningBeyondThisMachineIsFineWithIdentity) {
  Config config;
  config.store = "sqlite:/var/lib/glim/glim.db";
  for (const char* here : {"127.0.0.1:1", "127.8.9.1:0", "[::1]:80", "localhost:7601", "unix:/tmp/s"}) {
    EXPECT_TRUE(IsLoopbackTarget(here)) << here;
    config.listen = config.listen_agents = here;
    EXPECT_TRUE(CheckConfig(config).ok()) << here;
  }
  for (const char* beyond : {"0.0.0.0:1", "[::]:1", "10.0.0.1:7601", "127.evil.example:1", "example.org:1"}) {
    EXPECT_FALSE(IsLoopbackTarget(beyond)) << beyond;
    config.listen = config.listen_agents = beyond;
    config.metrics = "none";
    EXPECT_TRUE(CheckConfig(config).ok()) << beyond;
    config.metrics = beyond;
    config.open_metrics = false;
    EXPECT_EQ(CheckConfig(config).field(), "metrics") << beyond << ": no token is asked for there";
    config.open_metrics = true;
    EXPECT_TRUE(CheckConfig(config).ok()) << beyond;
  }
  for (const char* nonsense : {"", "7601", ":7601", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:7601x", "::1:7601",
                               "[::1]", "https://head:7601", "head:7601/"}) {
    config.listen = nonsense;
    EXPECT_EQ(CheckConfig(config).field(), "listen") << nonsense;
    EXPECT_EQ(CheckConfig(config).reason(), "BAD_CONFIG");
    EXPECT_EQ(CheckConfig(config).fix(), "write HOST:PORT, an IPv6 address in brackets: [::1]:7601");
  }
  for (const char* all : {"*:7601", "*:0"}) {
    config.listen = all;
    EXPECT_TRUE(CheckConfig(config).ok()) << all;
  }
  config.listen = "127.0.0.1:0";
  config.names = {"head:7601"};
  EXPECT_EQ(CheckConfig(config).field(), "names") << "a name has no port";
  config.names = {"head", "::1", "10.0.0.1"};
  EXPECT_TRUE(CheckConfig(config).ok());
  for (const char* nonsense : {"7603", ":7603", "127.0.0.1:99999"}) {
    config.listen_agents = nonsense;
    EXPECT_EQ(CheckConfig(config).field(), "listen_agents") << nonsense;
  }
  config.listen_agents = "";
  config.log_level = "loud";
  EXPECT_EQ(CheckConfig(config).field(), "log_level");
}

TEST(ConfigTest, AgentsHaveAPortOfTheirOwn) {
  Config config;
  EXPECT_EQ(AgentsAddress(config), "127.0.0.1:7603");
  config.listen = "0.0.0.0:7601";
  EXPECT_EQ(AgentsAddress(config), "127.0.0.1:7603") << "beyond this machine only when it is said";
  config.listen = "127.0.0.1:0";
  EXPECT_EQ(AgentsAddress(config), "127.0.0.1:0") << "many schedulers of tests on one machine";
  config.listen_agents = "0.0.0.0:7603";
  EXPECT_EQ(AgentsAddress(config), "0.0.0.0:7603");
}

TEST(ConfigTest, HttpHasAPortOfItsOwnAndPlaintextStaysOnThisMachine) {
  Config config;
  config.store = "sqlite:/x.db";
  EXPECT_EQ(HttpAddress(config), "127.0.0.1:7604");
  config.listen = "127.0.0.1:0";
  EXPECT_EQ(HttpAddress(config), "127.0.0.1:0");
  ASSERT_TRUE(ReadConfigText("listen_http: none\n", "c", &config).ok());
  EXPECT_EQ(HttpAddress(config), "");
  EXPECT_TRUE(CheckConfig(config).ok());
  config = Config();
  config.store = "sqlite:/x.db";
  ASSERT_TRUE(ReadConfigText("listen_http: 0.0.0.0:7604\nweb_root: /srv/glim\n", "c", &config).ok());
  EXPECT_TRUE(CheckConfig(config).ok()) << "with TLS";
  EXPECT_EQ(config.web_root, "/srv/glim");
  config.http_plaintext = true;
  EXPECT_EQ(CheckConfig(config).field(), "http_plaintext");
  config.listen_http = "127.0.0.1:7604";
  EXPECT_TRUE(CheckConfig(config).ok());
  for (const char* address : {"7604", "unix:/run/http", ":1"}) {
    config.listen_http = address;
    EXPECT_EQ(CheckConfig(config).field(), "listen_http") << address;
  }
}

TEST(ConfigTest, WhatTheOperatorFindsLiesBesideTheStoreOrWhereItIsSaid) {
  Config config;
  config.store = "sqlite:/var/lib/glim/glim.db";
  EXPECT_EQ(StateFolder(config), "/var/lib/glim");
  config.state_dir = "/srv/glim";
  EXPECT_EQ(StateFolder(config), "/srv/glim");
  config.state_dir = "";
  for (const char* elsewhere : {"memory", "postgres:service=glim"}) {
    config.store = elsewhere;
    config.insecure_without_identity = false;
    EXPECT_EQ(CheckConfig(config).field(), "state_dir") << elsewhere;
    config.insecure_without_identity = true;
    EXPECT_TRUE(CheckConfig(config).ok()) << "there are no keys";
  }
}

TEST(ConfigTest, InvitedNodesAreToldWhereTheSchedulerIsReached) {
  Config config;
  EXPECT_EQ(ReachedAt(config, "127.0.0.1:0", 4711, "head"), "127.0.0.1:4711");
  EXPECT_EQ(ReachedAt(config, "0.0.0.0:7601", 7601, "head"), "head:7601");
  EXPECT_EQ(ReachedAt(config, "[::]:7601", 7601, "head"), "head:7601");
  EXPECT_EQ(ReachedAt(config, "[::1]:7601", 7601, "head"), "[::1]:7601");
  config.names = {"glim.example.org", "10.0.0.1"};
  EXPECT_EQ(ReachedAt(config, "10.0.0.1:7601", 7601, "head"), "glim.example.org:7601");
}

TEST(ConfigTest, WhatOpenedThePortToEverybodyIsRefusedByItsOldName) {
  Config config;
  const Status old = ReadConfigText("allow_insecure_listen: true\n", "scheduler.yaml", &config);
  EXPECT_FALSE(old.ok());
  EXPECT_NE(old.fix().find("insecure_without_identity"), std::string::npos) << old.fix();
  const Status read = ReadConfigText(
      "insecure_without_identity: true\nnames: [head, 10.0.0.1]\nlisten_agents: 0.0.0.0:7603\nstate_dir: /srv/glim\n"
      "key_file: /srv/key\n",
      "scheduler.yaml", &config);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_TRUE(config.insecure_without_identity);
  EXPECT_EQ(config.names, (std::vector<std::string>{"head", "10.0.0.1"}));
  config.store = "memory";
  EXPECT_TRUE(CheckConfig(config).ok());
  config.names = {"http://head"};
  EXPECT_EQ(CheckConfig(config).field(), "names");
  EXPECT_FALSE(ReadConfigText("names: head\n", "scheduler.yaml", &config).ok());
}

TEST(ConfigTest, ALogLevelThatIsNoneIsRefusedWithItsPlace) {
  Config config;
  const Status status = ReadConfigText("store: sqlite:/x.db\nlog_level: loud\n", "scheduler.yaml", &config);
  EXPECT_EQ(status.message(), "scheduler.yaml:2:12: log_level: 'loud' is not a level");
  EXPECT_EQ(status.fix(), "use trace, debug, info, warning, error, critical or off");
}

TEST(ConfigTest, TheStoreHasAPlaceByDefault) {
  EXPECT_EQ(*DefaultStoreUrl("/state", "/home/kim"), "sqlite:/state/glim/glim.db");
  EXPECT_EQ(*DefaultStoreUrl(nullptr, "/home/kim"), "sqlite:/home/kim/.local/state/glim/glim.db");
  EXPECT_EQ(*DefaultStoreUrl("relative", "/home/kim"), "sqlite:/home/kim/.local/state/glim/glim.db");
  EXPECT_FALSE(DefaultStoreUrl(nullptr, nullptr).ok());
}

// A copy of the store's folder has what is sealed; with the key file beside it a thief of one backup would have both.
TEST(ConfigTest, TheKeyFileIsNotBesideTheStore) {
  EXPECT_EQ(*DefaultKeyFile(true, "/config", "/root"), "/etc/glim/cluster.key");
  EXPECT_EQ(*DefaultKeyFile(false, "/config", "/home/kim"), "/config/glim/cluster.key");
  EXPECT_EQ(*DefaultKeyFile(false, nullptr, "/home/kim"), "/home/kim/.config/glim/cluster.key");
  EXPECT_EQ(*DefaultKeyFile(false, "relative", "/home/kim"), "/home/kim/.config/glim/cluster.key");
  EXPECT_EQ(DefaultKeyFile(false, nullptr, nullptr).status().field(), "--key-file");
  Config config;
  for (const char* store : {"sqlite:/home/kim/.local/state/glim/glim.db", "sqlite:/state/glim/glim.db"}) {
    config.store = store;
    for (const char* home : {"/home/kim", "/state"}) {
      config.key_file = *DefaultKeyFile(false, nullptr, home);
      EXPECT_FALSE(KeyFileIsBesideStore(config)) << store << " " << home;
    }
  }
  config.store = "sqlite:/var/lib/glim/glim.db";
  for (const char* beside :
       {"/var/lib/glim/cluster.key", "/var/lib/glim/.config/glim/cluster.key", "/var/lib/other/../glim/cluster.key"}) {
    config.key_file = beside;
    EXPECT_TRUE(KeyFileIsBesideStore(config)) << beside;
  }
  config.key_file = "/var/lib/glim-keys/cluster.key";
  EXPECT_FALSE(KeyFileIsBesideStore(config));
  config.store = "postgres";
  config.key_file = "/var/lib/glim/cluster.key";
  EXPECT_FALSE(KeyFileIsBesideStore(config)) << "the store is elsewhere";
}

class PolicyPlaceTest : public ::testing::Test {
 protected:
  PolicyPlaceTest()
      : folder_(std::filesystem::temp_directory_path() / ("glim-policy-place-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~PolicyPlaceTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  Result<CommandLine> Parse(std::vector<const char*> words) {
    words.insert(words.begin(), "glim-scheduler");
    return ParseCommandLine(static_cast<int>(words.size()), words.data());
  }

  const std::filesystem::path folder_;
};

TEST_F(PolicyPlaceTest, AFileOfItsOwnBesideTheConfiguration) {
  const std::string policy = Write("policy.yaml", "agree_max: 3s\n");
  const std::string config = Write("glim.yaml", "store: sqlite:/x.db\npolicy_file: policy.yaml\n");
  const auto line = Parse({"--config", config.c_str()});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->config.policy.agree_max, Seconds(3));
  EXPECT_EQ(line->config.policy_source.path, policy);
  EXPECT_FALSE(line->config.policy_source.in_config);

  const std::string other = Write("other.yaml", "agree_max: 4s\n");
  const auto flag = Parse({"--config", config.c_str(), "--policy", other.c_str()});
  ASSERT_TRUE(flag.ok());
  EXPECT_EQ(flag->config.policy.agree_max, Seconds(4));
  EXPECT_EQ(flag->config.policy_source.path, other);
}

TEST_F(PolicyPlaceTest, InTheConfigurationOrInAFileNotInBoth) {
  const std::string config = Write("glim.yaml", "store: sqlite:/x.db\npolicy: {agree_max: 2s}\n");
  const auto line = Parse({"--config", config.c_str()});
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_EQ(line->config.policy_source.path, config);
  EXPECT_TRUE(line->config.policy_source.in_config);

  const std::string policy = Write("policy.yaml", "agree_max: 3s\n");
  const auto both = Parse({"--config", config.c_str(), "--policy", policy.c_str()});
  EXPECT_EQ(both.status().field(), "policy_file");
  EXPECT_NE(both.status().message().find(config), std::string::npos);
}

TEST_F(PolicyPlaceTest, WhereItStandsItIsReadAgain) {
  const std::string config = Write("glim.yaml", "store: sqlite:/x.db\n");
  const auto line = Parse({"--config", config.c_str()});
  ASSERT_TRUE(line.ok());
  Write("glim.yaml", "store: sqlite:/x.db\npolicy: {agree_max: 7s}\n");
  const auto in_config = ReadPolicyAgain(line->config.policy_source);
  ASSERT_TRUE(in_config.ok()) << in_config.status().message();
  EXPECT_EQ(in_config->policy.agree_max, Seconds(7));
  // It has moved out of the configuration.
  const std::string own = Write("policy.yaml", "agree_max: 8s\n");
  Write("glim.yaml", "store: sqlite:/x.db\npolicy_file: policy.yaml\n");
  EXPECT_EQ(ReadPolicyAgain(line->config.policy_source)->policy.agree_max, Seconds(8));
  EXPECT_EQ(ReadPolicyAgain({own, false})->policy.agree_max, Seconds(8));
  std::filesystem::remove(own);
  EXPECT_EQ(ReadPolicyAgain({own, false}).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadPolicyAgain({}).status().reason(), "NO_POLICY_FILE");
}

TEST_F(PolicyPlaceTest, ABadFileIsRefusedWithItsLine) {
  const std::string policy = Write("policy.yaml", "# words\nagree_max: soon\n");
  const auto line = Parse({"--store", "sqlite:/x.db", "--policy", policy.c_str()});
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.status().message(), policy + ":2:12: agree_max: must be a duration");
  EXPECT_FALSE(Parse({"--store", "sqlite:/x.db", "--policy", "/nonexistent/p.yaml"}).ok());
}

TEST(ConfigTest, FlagsGoOverTheFile) {
  const auto path = std::filesystem::temp_directory_path() / ("glim-server-config-" + std::to_string(::getpid()));
  std::ofstream(path) << "listen: 127.0.0.1:1111\nmetrics: none\nstore: sqlite:/x.db\n";
  const std::string file = path.string();
  const char* argv[] = {"glim-scheduler", "--config",    file.c_str(), "--listen",
                        "127.0.0.1:2222", "--port-file", "/tmp/p"};
  const auto line = ParseCommandLine(7, argv);
  std::filesystem::remove(path);
  ASSERT_TRUE(line.ok()) << line.status().message();
  EXPECT_FALSE(line->exit_code);
  EXPECT_EQ(line->config.listen, "127.0.0.1:2222");
  EXPECT_EQ(line->config.metrics, "none");
  EXPECT_EQ(line->config.store, "sqlite:/x.db");
  EXPECT_EQ(line->config.port_file, "/tmp/p");
  const char* missing[] = {"glim-scheduler", "--config", "/nonexistent/glim.yaml"};
  EXPECT_FALSE(ParseCommandLine(3, missing).ok());
}

}  // namespace
}  // namespace glim::server
