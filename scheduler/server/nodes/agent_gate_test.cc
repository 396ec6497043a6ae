// Which certificates may speak for which node.
#include "scheduler/server/nodes/agent_gate.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

constexpr TimePoint kNow{1'000'000};

AgentGate Gate(bool identity = true, bool loopback = false) {
  AgentGate::Options options;
  options.identity = identity;
  options.containers_without_identity = loopback;
  options.cluster = "c1";
  return AgentGate(std::move(options));
}

AgentPeer Peer(const std::string& node, const std::string& serial) { return {node, serial, "c1", kNow + Hours(1)}; }

core::Identity Rows() {
  const auto enrolled = [](const std::string& name) {
    core::NodeIdentity row;
    row.name = name;
    row.machine_id = "m-" + name;
    row.serial = "02";
    return row;
  };
  core::Identity rows;
  core::NodeIdentity renewed = enrolled("n1");
  renewed.previous_serial = "01";
  core::NodeIdentity revoked = enrolled("n2");
  revoked.revoked = true;
  core::NodeIdentity login = enrolled("front");
  login.login = true;
  core::NodeIdentity invited;
  invited.name = "n3";
  for (const core::NodeIdentity& row : {renewed, revoked, login, invited, enrolled("n4")}) {
    rows.Change({row, false, {}, false});
  }
  return rows;
}

TEST(AgentGate, TheCertificateSaysWhichNodeItIs) {
  const AgentGate gate = Gate();
  const core::Identity rows = Rows();
  const auto reason = [&](const AgentPeer& peer, const std::string& node, const std::string& machine) {
    return gate.CheckNode(peer, rows, kNow, node, machine).reason();
  };
  EXPECT_EQ(reason(Peer("n1", "02"), "n1", "m-n1"), "");
  EXPECT_EQ(reason(Peer("n1", "01"), "n1", "m-n1"), "") << "the one before, until the newest was used";
  EXPECT_EQ(reason(Peer("n4", ""), "n4", "m-n4"), "CERTIFICATE_REPLACED") << "an empty serial is none before";
  EXPECT_EQ(reason(Peer("n1", "00"), "n1", "m-n1"), "CERTIFICATE_REPLACED");
  EXPECT_EQ(reason(Peer("n2", "02"), "n2", "m-n2"), "NODE_REVOKED");
  EXPECT_EQ(reason(Peer("n3", "02"), "n3", "m-n3"), "NOT_ENROLLED") << "invited, and no more";
  EXPECT_EQ(reason(Peer("n9", "02"), "n9", "m-n9"), "NOT_ENROLLED");
  EXPECT_EQ(reason(Peer("n4", "02"), "n1", "m-n1"), "WRONG_NODE") << "another node's word, with its machine id";
  EXPECT_EQ(reason(Peer("n1", "02"), "n1", "m-n4"), "WRONG_MACHINE") << "a stolen key on another machine";
  EXPECT_EQ(reason(Peer("front", "02"), "front", "m-front"), "LOGIN_HOST");
  EXPECT_EQ(reason({}, "n1", "m-n1"), "NO_CERTIFICATE");
  EXPECT_EQ(reason({"n1", "02", "c2", kNow + Hours(1)}, "n1", "m-n1"), "NO_CERTIFICATE") << "of another cluster";
  EXPECT_EQ(reason({"n1", "02", "c1", kNow - Seconds(1)}, "n1", "m-n1"), "CERTIFICATE_EXPIRED");
}

// The connection may be older than the change: TLS let it in when that authority counted.
TEST(AgentGate, ACertificateCountsAsLongAsItsAuthorityDoes) {
  AgentGate::Options options;
  options.cluster = "c1";
  std::string counts = "a";
  options.counts = [&](const std::string& issuer) { return issuer == counts; };
  const AgentGate gate(std::move(options));
  AgentPeer node = Peer("n1", "02"), front = Peer("front", "02"), bare = Peer("n1", "02");
  node.issuer = front.issuer = "a";
  EXPECT_TRUE(gate.CheckNode(node, Rows(), kNow, "n1", "m-n1").ok());
  EXPECT_EQ(gate.CheckNode(bare, Rows(), kNow, "n1", "m-n1").reason(), "UNKNOWN_AUTHORITY") << "it does not say whose";
  counts = "b";
  EXPECT_EQ(gate.CheckPeer(node, Rows(), kNow).reason(), "UNKNOWN_AUTHORITY");
  EXPECT_EQ(gate.CheckNode(node, Rows(), kNow, "n1", "m-n1").reason(), "UNKNOWN_AUTHORITY");
  EXPECT_EQ(gate.CheckLogin(front, Rows(), kNow).reason(), "UNKNOWN_AUTHORITY");
}

TEST(AgentGate, OnlyAHostForLoginsMayAskForUsers) {
  const core::Identity rows = Rows();
  EXPECT_TRUE(Gate().CheckLogin(Peer("front", "02"), rows, kNow).ok());
  EXPECT_EQ(Gate().CheckLogin(Peer("n1", "02"), rows, kNow).reason(), "NO_LOGIN_HOST");
  EXPECT_EQ(Gate().CheckLogin({}, rows, kNow).reason(), "NO_CERTIFICATE");
  EXPECT_EQ(Gate(false).CheckLogin({}, rows, kNow).reason(), "NO_IDENTITY");
}

// Who reaches such a scheduler gives its agents orders, and containers are made by root.
TEST(AgentGate, WithoutIdentityNobodyBeyondTheMachineHasContainers) {
  for (const char* runtime : {"runc", "crun"}) {
    EXPECT_EQ(Gate(false, false).CheckRuntime(runtime).reason(), "INSECURE_WITH_CONTAINERS") << runtime;
    EXPECT_TRUE(Gate(false, true).CheckRuntime(runtime).ok()) << runtime;
    EXPECT_TRUE(Gate(true, false).CheckRuntime(runtime).ok()) << runtime;
  }
  EXPECT_TRUE(Gate(false, false).CheckRuntime("process").ok());
  EXPECT_TRUE(Gate(false).CheckNode({}, core::Identity(), kNow, "n1", "m").ok());
}

TEST(AgentGate, WhatIsRefusedIsTold) {
  AgentGate::Options options;
  options.cluster = "c1";
  AuditNote told;
  std::string reason;
  options.denied = [&](AuditNote note, const Status& why) {
    told = std::move(note);
    reason = why.reason();
  };
  const AgentGate gate(std::move(options));
  const Status why = gate.CheckNode(Peer("n4", "02"), Rows(), kNow, "n1", "m-n1");
  gate.Denied(Peer("n4", "02"), "ipv4:10.0.0.4:1", "/glim.v1.AgentApi/Sync", "node n1", why);
  EXPECT_EQ(told.token, "node:n4");
  EXPECT_EQ(told.object, "node n1");
  EXPECT_EQ(told.peer, "ipv4:10.0.0.4:1");
  EXPECT_EQ(reason, "WRONG_NODE");
}

}  // namespace
}  // namespace glim::server
