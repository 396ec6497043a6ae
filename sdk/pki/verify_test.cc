#include "sdk/pki/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "sdk/pki/testing/authorities.h"

namespace glim::pki {
namespace {

TEST(Verify, ALeafIsGoodForItsPurposeInItsTimeUnderItsAuthority) {
  const Authority ours = TestAuthority(), other = TestAuthority();
  const PrivateKey key = PrivateKey::Make();
  const Certificate node = TestNode(ours, key), scheduler = TestScheduler(ours, key);
  struct Case {
    const char* what;
    Certificate leaf;
    std::vector<Certificate> authorities;
    Purpose purpose;
    TimePoint now;
    std::string reason;  // empty: good
  };
  const TimePoint end = kTestNow + Hours(720);
  const std::vector<Certificate> trust = {ours.certificate};
  for (const Case& c : std::vector<Case>{
           {"node", node, trust, Purpose::kNode, kTestNow, ""},
           {"scheduler", scheduler, trust, Purpose::kScheduler, kTestNow, ""},
           {"either of two", node, {other.certificate, ours.certificate}, Purpose::kNode, kTestNow, ""},
           {"node as scheduler", node, trust, Purpose::kScheduler, kTestNow, "WRONG_PURPOSE"},
           {"scheduler as node", scheduler, trust, Purpose::kNode, kTestNow, "WRONG_PURPOSE"},
           {"authority as node", ours.certificate, trust, Purpose::kNode, kTestNow, "WRONG_PURPOSE"},
           {"foreign", node, {other.certificate}, Purpose::kNode, kTestNow, "UNKNOWN_AUTHORITY"},
           {"nobody trusted", node, {}, Purpose::kNode, kTestNow, "UNKNOWN_AUTHORITY"},
           {"a leaf is no authority", node, {node}, Purpose::kNode, kTestNow, "UNKNOWN_AUTHORITY"},
           {"a clock that is 4 minutes behind", node, trust, Purpose::kNode, kTestNow - Minutes(4), ""},
           {"too early", node, trust, Purpose::kNode, kTestNow - Minutes(6), "CERTIFICATE_EXPIRED"},
           {"last second", node, trust, Purpose::kNode, end - Seconds(1), ""},
           {"too late", node, trust, Purpose::kNode, end + Seconds(1), "CERTIFICATE_EXPIRED"},
       }) {
    const Status status = VerifyLeaf(c.leaf, c.authorities, c.purpose, c.now);
    EXPECT_EQ(status.reason(), c.reason) << c.what << ": " << status.message();
    EXPECT_EQ(status.ok(), c.reason.empty()) << c.what;
  }
}

TEST(Verify, AChangedCertificateIsRefusedWhateverWasChanged) {
  const Authority ours = TestAuthority();
  const Certificate node = TestNode(ours, PrivateKey::Make());
  int read = 0;
  for (std::size_t at = 0; at < node.der().size(); ++at) {
    std::string changed = node.der();
    changed[at] = static_cast<char>(changed[at] ^ 0x01);
    const Result<Certificate> certificate = Certificate::FromDer(changed);
    if (!certificate.ok()) continue;
    ++read;
    EXPECT_FALSE(VerifyLeaf(*certificate, {ours.certificate}, Purpose::kNode, kTestNow).ok()) << at;
  }
  EXPECT_GT(read, 100) << "most of it can be changed and still be read";
}

TEST(Verify, AnAgentTakesItsOwnCertificateAlone) {
  const Authority ours = TestAuthority();
  const PrivateKey key = PrivateKey::Make();
  const std::vector<Certificate> trust = {ours.certificate};
  const Certificate node = TestNode(ours, key, "n1");
  EXPECT_TRUE(VerifyOwn(node, trust, "c1", "n1", key, kTestNow).ok());
  EXPECT_EQ(VerifyOwn(node, trust, "c1", "n2", key, kTestNow).reason(), "NOT_OURS");
  EXPECT_EQ(VerifyOwn(node, trust, "c2", "n1", key, kTestNow).reason(), "NOT_OURS");
  EXPECT_EQ(VerifyOwn(node, trust, "c1", "n1", PrivateKey::Make(), kTestNow).reason(), "NOT_OURS");
  EXPECT_EQ(VerifyOwn(node, {}, "c1", "n1", key, kTestNow).reason(), "UNKNOWN_AUTHORITY");
}

TEST(Verify, TheInvitedFindTheAuthorityByItsFingerprint) {
  const Authority ours = TestAuthority(), other = TestAuthority();
  const Certificate scheduler = TestScheduler(ours, PrivateKey::Make());
  const std::string digits = ours.certificate.fingerprint();
  std::string colons, upper = digits;
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (std::size_t i = 0; i < upper.size(); i += 2) colons += (i == 0 ? "" : ":") + upper.substr(i, 2);
  for (const std::string& text : {digits, upper, colons}) {
    const Result<Certificate> found = FindAuthority({scheduler, ours.certificate}, text);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(*found, ours.certificate);
  }
  EXPECT_EQ(FindAuthority({scheduler}, digits).status().reason(), "FINGERPRINT") << "it has to be shown";
  EXPECT_EQ(FindAuthority({}, digits).status().reason(), "FINGERPRINT");
  EXPECT_EQ(FindAuthority({scheduler, other.certificate}, digits).status().reason(), "FINGERPRINT");
  EXPECT_EQ(FindAuthority({TestScheduler(other, PrivateKey::Make()), ours.certificate}, digits).status().reason(),
            "FINGERPRINT")
      << "somebody in between shows the true authority, which anybody may have, behind his own";
  EXPECT_EQ(FindAuthority({scheduler, ours.certificate}, scheduler.fingerprint()).status().reason(), "FINGERPRINT");
  for (const std::string& text : {std::string(), std::string("abc"), digits + "0", std::string(64, 'g')}) {
    EXPECT_EQ(FindAuthority({scheduler, ours.certificate}, text).status().field(), "ca_fingerprint") << text;
  }
}

}  // namespace
}  // namespace glim::pki
