// What the certificates alone make of TLS handshakes: OpenSSL's own, as gRPC's are.
#include <gtest/gtest.h>

#include <optional>

#include "sdk/pki/testing/authorities.h"
#include "sdk/pki/testing/tls_peer.h"

namespace glim::pki {
namespace {

using Identity = TlsPeer::Identity;

class HandshakeTest : public testing::Test {
 protected:
  Identity NodeOf(const Authority& authority, const Lifetime& lifetime = LifetimeOf(Hours(720))) {
    const PrivateKey key = PrivateKey::Make();
    return {key, {TestNode(authority, key, "n1", lifetime)}};
  }
  Identity SchedulerOf(const Authority& authority) {
    const PrivateKey key = PrivateKey::Make();
    return {key, {TestScheduler(authority, key), authority.certificate}};
  }
  // The port listen_agents: both sides show a certificate.
  bool Meet(const Identity& server, const std::vector<Certificate>& of_nodes, const std::optional<Identity>& client,
            const std::vector<Certificate>& of_schedulers, TimePoint now = kTestNow,
            const std::string& name = kSchedulerName) {
    TlsPeer serving(TlsPeer::Side::kServer, &server, of_nodes, now);
    TlsPeer calling(TlsPeer::Side::kClient, client ? &*client : nullptr, of_schedulers, now, name);
    const bool met = ShakeHands(&serving, &calling);
    servers_verdict_ = serving.verdict();
    clients_verdict_ = calling.verdict();
    return met;
  }

  const Authority ours_ = TestAuthority(), other_ = TestAuthority();
  const std::vector<Certificate> trust_ = {ours_.certificate};
  long servers_verdict_ = X509_V_OK, clients_verdict_ = X509_V_OK;
};

TEST_F(HandshakeTest, ANodeAndASchedulerOfOneClusterMeet) {
  EXPECT_TRUE(Meet(SchedulerOf(ours_), trust_, NodeOf(ours_), trust_));
  EXPECT_TRUE(Meet(SchedulerOf(ours_), trust_, NodeOf(ours_), trust_, kTestNow, "localhost"));
  EXPECT_FALSE(Meet(SchedulerOf(ours_), trust_, NodeOf(ours_), trust_, kTestNow, "elsewhere"));
  EXPECT_EQ(clients_verdict_, X509_V_ERR_HOSTNAME_MISMATCH);
}

TEST_F(HandshakeTest, ANodesCertificateIsNoServers) {
  Identity node = NodeOf(ours_);
  EXPECT_FALSE(Meet(node, trust_, NodeOf(ours_), trust_, kTestNow, ""));
  EXPECT_EQ(clients_verdict_, X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(HandshakeTest, ASchedulersCertificateIsNoNodes) {
  EXPECT_FALSE(Meet(SchedulerOf(ours_), trust_, SchedulerOf(ours_), trust_));
  EXPECT_EQ(servers_verdict_, X509_V_ERR_INVALID_PURPOSE);
}

TEST_F(HandshakeTest, WhoIsOfAnotherClusterIsRefusedByEitherSide) {
  EXPECT_FALSE(Meet(SchedulerOf(ours_), trust_, NodeOf(other_), trust_));
  EXPECT_NE(servers_verdict_, X509_V_OK);
  EXPECT_FALSE(Meet(SchedulerOf(other_), trust_, NodeOf(ours_), trust_));
  EXPECT_NE(clients_verdict_, X509_V_OK);
}

TEST_F(HandshakeTest, WhoShowsNothingIsRefused) {
  EXPECT_FALSE(Meet(SchedulerOf(ours_), trust_, std::nullopt, trust_));
}

TEST_F(HandshakeTest, WhatHasExpiredIsRefused) {
  const Identity node = NodeOf(ours_, LifetimeOf(Hours(1)));
  EXPECT_TRUE(Meet(SchedulerOf(ours_), trust_, node, trust_));
  EXPECT_FALSE(Meet(SchedulerOf(ours_), trust_, node, trust_, kTestNow + Hours(2)));
  EXPECT_EQ(servers_verdict_, X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST_F(HandshakeTest, WhileTheAuthorityIsChangedBothCount) {
  const std::vector<Certificate> both = {ours_.certificate, other_.certificate};
  for (const Authority* server : {&ours_, &other_}) {
    for (const Authority* client : {&ours_, &other_}) {
      EXPECT_TRUE(Meet(SchedulerOf(*server), both, NodeOf(*client), both));
    }
  }
}

}  // namespace
}  // namespace glim::pki
