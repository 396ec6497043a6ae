#include "sdk/base/host_port.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(Hosts, AreNamesOrIpAddresses) {
  for (const char* host :
       {"10.0.0.7", "node-1", "n1.cluster.example.org", "head.", "::1", "[fe80::1]", "localhost", "gpu_7",
        "fe80::1%eth0", "::", "1:2:3:4:5:6:7:8", "1::8", "::ffff:10.0.0.7", "2001:db8::", "0.0.0.0"}) {
    EXPECT_TRUE(CheckHost("--address", host).ok()) << host;
  }
  for (const char* host : {"",
                           "10.0.0.300",
                           "10.0.0",
                           "10.0.0.7.8",
                           "10.00.0.7",
                           "10.0.0.7:8000",
                           "head node",
                           "a..b",
                           "-n1",
                           "[::1",
                           "fe80::zz",
                           "http://n1",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1::2::3",
                           "::12345",
                           ":::",
                           "10.0.0.7::",
                           "fe80::1%",
                           "[]",
                           "[10.0.0.7]",
                           "*",
                           "host\xc2\xa0"}) {
    const Status status = CheckHost("--address", host);
    EXPECT_EQ(status.field(), "--address") << host;
    EXPECT_NE(status.message().find("\" is neither a host name nor an IP address"), std::string::npos) << host;
  }
}

TEST(HostPorts, AreReadAndJoined) {
  const struct {
    const char* text;
    const char* host;
    int port;
  } kRows[] = {{"head:7601", "head", 7601},
               {"127.0.0.1:1", "127.0.0.1", 1},
               {"[::1]:7601", "::1", 7601},
               {"[fe80::1%eth0]:65535", "fe80::1%eth0", 65535}};
  for (const auto& row : kRows) {
    const auto read = ParseHostPort("--server", row.text);
    ASSERT_TRUE(read.ok()) << row.text << read.status().message();
    EXPECT_EQ(read->host, row.host);
    EXPECT_EQ(read->port, row.port);
    EXPECT_EQ(JoinHostPort(read->host, read->port), row.text);
  }
  EXPECT_EQ(JoinHostPort("[::1]", 80), "[::1]:80");
}

TEST(HostPorts, AreRefusedWithWhatIsWrong) {
  const struct {
    const char* text;
    const char* fault;
  } kRows[] = {
      {"", "has no port"},
      {"head", "has no port"},
      {"[::1]", "has no port"},
      {"::1", "has more than one colon"},
      {"::1:7601", "has more than one colon"},
      {"2001:db8::7:7601", "has more than one colon"},
      {"head:7601:7602", "has more than one colon"},
      {"ipv4:10.0.0.7:7601", "has more than one colon"},
      {":7601", "has no host"},
      {"head:", "has no port from 1 to 65535"},
      {"head:port", "has no port from 1 to 65535"},
      {"head:0", "has no port from 1 to 65535"},
      {"head:99999", "has no port from 1 to 65535"},
      {"head:65536", "has no port from 1 to 65535"},
      {"head:4294974897", "has no port from 1 to 65535"},
      {"head:-1", "has no port from 1 to 65535"},
      {"head:+7601", "has no port from 1 to 65535"},
      {"head:07601", "has no port from 1 to 65535"},
      {"head:7601/", "has no port from 1 to 65535"},
      {"head: 7601", "has no port from 1 to 65535"},
      {"[::1]:0x1db1", "has no port from 1 to 65535"},
      {"[::1]7601", "has more than one colon"},
      {"[head]:7601", "names neither a host nor an IP address"},
      {"10.0.0.300:7601", "names neither a host nor an IP address"},
      {"a b:7601", "names neither a host nor an IP address"},
      {"https://head:7601", "is a URL"},
      {"http://head", "is a URL"},
  };
  for (const auto& row : kRows) {
    const Status refused = ParseHostPort("server", row.text).status();
    EXPECT_EQ(refused.message().find(std::string("server \"") + row.text + "\" " + row.fault), 0u)
        << row.text << ": " << refused.message();
    EXPECT_EQ(refused.field(), "server");
    EXPECT_EQ(refused.fix(), "write HOST:PORT, an IPv6 address in brackets: [::1]:7601");
  }
}

TEST(HostPorts, OfAListenerMayLeaveThePortToTheSystem) {
  EXPECT_EQ(ParseHostPort("listen", "127.0.0.1:0", PortZero::kTaken)->port, 0);
  EXPECT_NE(ParseHostPort("listen", "127.0.0.1:70000", PortZero::kTaken).status().message().find("from 0 to 65535"),
            std::string::npos);
}

TEST(Targets, AreHostPortsOrGrpcsOwnWords) {
  for (const char* target : {"head:7601", "[::1]:7601", "unix:/run/glim/agents", "dns:///head:7601"}) {
    EXPECT_TRUE(CheckTarget("--scheduler", target).ok()) << target;
  }
  for (const char* target :
       {"head", "unix:", "dns:///head", "dns://8.8.8.8/head:7601", "::1:7603", "https://head:7601"}) {
    EXPECT_EQ(CheckTarget("--scheduler", target).field(), "--scheduler") << target;
  }
}

TEST(Targets, ThatOnlyThisMachineReaches) {
  for (const char* here : {"127.0.0.1:1", "127.8.9.1:7603", "[::1]:7603", "localhost:7603", "unix:/run/s", "[::1]:0"}) {
    EXPECT_TRUE(IsLoopbackTarget(here)) << here;
  }
  for (const char* beyond : {"10.0.0.1:7603", "head:7603", "127.evil.example:7603", "[fd00::1]:7603", "::1"}) {
    EXPECT_FALSE(IsLoopbackTarget(beyond)) << beyond;
  }
}

}  // namespace
}  // namespace glim
