#include "nodeagent/options/address_check.h"

#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

TEST(AddressCheck, AHostIsANameOrAnIpAddress) {
  for (const char* host : {"10.0.0.7", "node-1", "n1.cluster.example.org", "::1", "[fe80::1]", "localhost", "gpu_7"}) {
    EXPECT_TRUE(CheckHost("--address", host).ok()) << host;
  }
  for (const char* host :
       {"", "10.0.0.300", "10.0.0", "10.0.0.7:8000", "head node", "a..b", "-n1", "[::1", "fe80::zz", "http://n1"}) {
    const Status status = CheckHost("--address", host);
    EXPECT_EQ(status.field(), "--address") << host;
    EXPECT_EQ(status.message(), std::string("--address \"") + host + "\" is neither a host name nor an IP address");
  }
}

TEST(AddressCheck, ATargetHasAPort) {
  for (const char* target : {"head:7601", "127.0.0.1:1", "[::1]:7601", "unix:/run/glim/agents", "dns:///head:7601"}) {
    EXPECT_TRUE(CheckTarget("--scheduler", target).ok()) << target;
  }
  for (const char* target :
       {"head", "head:", ":7601", "head:port", "head:0", "head:99999", "10.0.0.300:7601", "unix:"}) {
    EXPECT_EQ(CheckTarget("--scheduler", target).field(), "--scheduler") << target;
  }
}

TEST(AddressCheck, WhatOnlyThisMachineReaches) {
  for (const char* here : {"127.0.0.1:1", "127.8.9.1:7603", "[::1]:7603", "localhost:7603", "unix:/run/s"}) {
    EXPECT_TRUE(IsLoopbackTarget(here)) << here;
  }
  for (const char* beyond : {"10.0.0.1:7603", "head:7603", "127.evil.example:7603", "[fd00::1]:7603", "::1"}) {
    EXPECT_FALSE(IsLoopbackTarget(beyond)) << beyond;
  }
}

}  // namespace
}  // namespace glim::nodeagent
