#include "scheduler/identity/cluster_authority.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>

#include "scheduler/identity/seal.h"
#include "sdk/io/random_bytes.h"
#include "sdk/pki/certificate_request.h"
#include "sdk/pki/verify.h"

namespace glim::identity {
namespace {

constexpr TimePoint kNow{1'800'000'000'000};

using pki::Certificate;
using pki::PrivateKey;
using pki::Purpose;
using pki::VerifyLeaf;

// Random bytes that a test can foretell: 1, 2, 3, ...
pki::RandomSource Counted() {
  auto next = std::make_shared<unsigned char>(0);
  return [next](std::span<std::byte> into) {
    std::generate(into.begin(), into.end(), [&] { return static_cast<std::byte>(++*next); });
  };
}

class ClusterAuthorityTest : public testing::Test {
 protected:
  Certificate Node(const std::string& name = "n1", TimePoint now = kNow) const {
    Result<Certificate> made = authority_.SignNode(pki::MakeRequest(key_, name), name, now);
    GLIM_CHECK(made.ok(), made.status().message());
    return *made;
  }
  Certificate Scheduler() const {
    Result<Certificate> made = authority_.SignScheduler(key_, {{"head"}, {"10.0.0.1"}}, kNow);
    GLIM_CHECK(made.ok(), made.status().message());
    return *made;
  }
  bool IsGood(const Certificate& leaf, const std::vector<Certificate>& trust, Purpose purpose) const {
    return VerifyLeaf(leaf, trust, purpose, kNow).ok();
  }
  Result<ClusterAuthority> Reopened(const ClusterKey& key, const std::string& cluster = "c1") const {
    const std::vector<core::SealedRow> rows = authority_.Rows(cluster_key_);
    const auto old = rows.size() > 1 ? std::optional(rows[1]) : std::nullopt;
    return ClusterAuthority::Open(cluster, key, rows[0], old, FillRandomly);
  }

  ClusterAuthority authority_ = *ClusterAuthority::Create("c1", kNow, Counted());
  const PrivateKey key_ = PrivateKey::Make();
  const ClusterKey cluster_key_{ClusterKey::Bytes{}};
};

TEST_F(ClusterAuthorityTest, SignsNodesForThirtyDaysAndSchedulersForAYear) {
  const Certificate node = Node();
  EXPECT_TRUE(IsGood(node, authority_.Trust(), Purpose::kNode));
  EXPECT_FALSE(IsGood(node, authority_.Trust(), Purpose::kScheduler));
  EXPECT_EQ(node.cluster(), "c1");
  EXPECT_EQ(node.node(), "n1");
  EXPECT_EQ(node.valid_from(), kNow - kBackdate);
  EXPECT_EQ(node.valid_until(), kNow + Hours(30 * 24));
  EXPECT_EQ(node.serial().substr(8), "0d0e0f101112131415161718") << "the source's second 12 bytes";
  EXPECT_TRUE(authority_.IsOfSigner(node.serial()));
  EXPECT_NE(Node().serial(), node.serial());

  const Certificate scheduler = Scheduler();
  EXPECT_TRUE(IsGood(scheduler, authority_.Trust(), Purpose::kScheduler));
  EXPECT_FALSE(IsGood(scheduler, authority_.Trust(), Purpose::kNode));
  EXPECT_EQ(scheduler.valid_until(), kNow + Hours(365 * 24));
  EXPECT_EQ(authority_.ChainOf(scheduler), (std::vector<Certificate>{scheduler, authority_.Signer()}));
  EXPECT_TRUE(pki::FindAuthority(authority_.ChainOf(scheduler), authority_.ShownAuthority().fingerprint()).ok());
}

TEST_F(ClusterAuthorityTest, ARequestOrNameThatIsNoneIsRefused) {
  EXPECT_EQ(authority_.SignNode("no request", "n1", kNow).status().reason(), "BAD_CSR");
  EXPECT_EQ(authority_.SignNode(pki::MakeRequest(key_, "n1"), "n/1", kNow).status().field(), "node");
  EXPECT_EQ(authority_.SignScheduler(key_, {{"no host"}, {}}, kNow).status().field(), "names");
  EXPECT_EQ(ClusterAuthority::Create("a/b", kNow, Counted()).status().field(), "cluster");
  // What the request calls itself counts for nothing.
  EXPECT_EQ(authority_.SignNode(pki::MakeRequest(key_, "n2"), "n1", kNow)->node(), "n1");
}

TEST_F(ClusterAuthorityTest, ComesBackFromItsRowsAndFromNoOthers) {
  const std::vector<core::SealedRow> rows = authority_.Rows(cluster_key_);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "ca");
  const Result<ClusterAuthority> again = Reopened(cluster_key_);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->Trust(), authority_.Trust());
  EXPECT_FALSE(again->changing());
  const Result<Certificate> node = again->SignNode(pki::MakeRequest(key_, "n1"), "n1", kNow);
  EXPECT_TRUE(IsGood(*node, authority_.Trust(), Purpose::kNode));

  ClusterKey::Bytes other{};
  other[5] = std::byte{1};
  EXPECT_EQ(Reopened(ClusterKey(other)).status().reason(), "OTHER_KEY_FILE");
  EXPECT_EQ(Reopened(cluster_key_, "c2").status().reason(), "TORN_ROW");
  core::SealedRow moved = rows[0];
  moved.name = "ca.old";
  EXPECT_EQ(ClusterAuthority::Open("c1", cluster_key_, rows[0], moved, FillRandomly).status().reason(), "TORN_ROW");
}

TEST_F(ClusterAuthorityTest, WhatIsSealedHasToBeAnAuthorityWithItsKey) {
  const Certificate node = Node();
  const pki::Authority other = *pki::MakeAuthority("c1", {}, {kNow, kNow + Hours(1)});
  const std::string certificate = authority_.Signer().Pem();
  for (const std::string& text :
       {std::string(), std::string("text"), certificate, key_.Pem(), certificate + key_.Pem(), node.Pem() + key_.Pem(),
        certificate + other.key.Pem(), certificate + certificate + other.key.Pem()}) {
    const core::SealedRow row{"ca", Seal(cluster_key_, "sealed", "ca", text, FillRandomly)};
    const Status status = ClusterAuthority::Open("c1", cluster_key_, row, std::nullopt, FillRandomly).status();
    EXPECT_EQ(status.reason(), "TORN_ROW") << text;
    EXPECT_EQ(status.message().find("BEGIN PRIVATE"), std::string::npos);
  }
}

// What each side trusts and shows, before, during and after: whoever has heard of the new one is never refused, and
// whoever has renewed has heard of it.
TEST_F(ClusterAuthorityTest, IsChangedWhileTheClusterRuns) {
  const std::vector<Certificate> before = authority_.Trust();
  const Certificate old_node = Node(), old_scheduler = Scheduler();
  EXPECT_EQ(authority_.Finish({}, true).reason(), "ROTATION");

  ASSERT_TRUE(authority_.Begin(kNow).ok());
  EXPECT_EQ(authority_.Begin(kNow).reason(), "ROTATION");
  const std::vector<Certificate> during = authority_.Trust();
  ASSERT_EQ(during.size(), 2U);
  EXPECT_EQ(during[0], before[0]);
  EXPECT_EQ(during[1], authority_.Signer());
  const Certificate new_node = Node(), shown = Scheduler();
  EXPECT_TRUE(IsGood(old_node, during, Purpose::kNode));
  EXPECT_TRUE(IsGood(new_node, during, Purpose::kNode));
  EXPECT_TRUE(IsGood(shown, before, Purpose::kScheduler)) << "agents that have heard nothing yet come back";
  EXPECT_EQ(authority_.ChainOf(shown)[1], before[0]);
  EXPECT_EQ(authority_.ShownAuthority(), before[0]) << "what invitations tell is what is shown";
  EXPECT_FALSE(authority_.IsOfSigner(old_node.serial()));
  EXPECT_TRUE(authority_.IsOfSigner(new_node.serial()));
  EXPECT_TRUE(authority_.Counts(old_node.issuer_key_id()));
  EXPECT_TRUE(authority_.Counts(new_node.issuer_key_id()));

  const Result<ClusterAuthority> restarted = Reopened(cluster_key_);
  ASSERT_TRUE(restarted.ok()) << restarted.status().message();
  EXPECT_EQ(restarted->Trust(), during);

  const Status refused = authority_.Finish({"n1", "n2"}, false);
  EXPECT_EQ(refused.reason(), "NOT_RENEWED");
  EXPECT_NE(refused.message().find("n1, n2"), std::string::npos) << refused.message();
  EXPECT_TRUE(authority_.changing());
  ASSERT_TRUE(authority_.Finish({}, false).ok());
  EXPECT_EQ(authority_.Trust(), std::vector<Certificate>{during[1]});
  EXPECT_FALSE(authority_.Counts(old_node.issuer_key_id()));
  EXPECT_TRUE(authority_.Counts(new_node.issuer_key_id()));
  EXPECT_FALSE(authority_.Counts("")) << "a certificate that says of nobody that they signed it";
  EXPECT_EQ(authority_.Rows(cluster_key_).size(), 1U);
  EXPECT_TRUE(IsGood(Scheduler(), during, Purpose::kScheduler)) << "who has renewed knows both";
  EXPECT_FALSE(IsGood(Scheduler(), before, Purpose::kScheduler));
  EXPECT_FALSE(IsGood(old_node, authority_.Trust(), Purpose::kNode));
  EXPECT_FALSE(IsGood(old_scheduler, authority_.Trust(), Purpose::kScheduler));
}

TEST_F(ClusterAuthorityTest, IsFinishedByForceToo) {
  ASSERT_TRUE(authority_.Begin(kNow).ok());
  EXPECT_TRUE(authority_.Finish({"n1"}, true).ok());
  EXPECT_FALSE(authority_.changing());
}

}  // namespace
}  // namespace glim::identity
