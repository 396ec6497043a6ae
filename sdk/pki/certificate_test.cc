#include "sdk/pki/certificate.h"

#include <gtest/gtest.h>

#include "sdk/pki/openssl_ptr.h"
#include "sdk/pki/testing/authorities.h"

namespace glim::pki {
namespace {

// A certificate with these URIs, signed by its own key.
Certificate WithUris(const std::vector<std::string>& uris) {
  const PrivateKey key = PrivateKey::Make();
  const CertificatePtr made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 7);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key.raw());
  const OpensslPtr<GENERAL_NAMES, GENERAL_NAMES_free> names(GENERAL_NAMES_new());
  for (const std::string& uri : uris) {
    GENERAL_NAME* name = GENERAL_NAME_new();
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size()));
    GENERAL_NAME_set0_value(name, GEN_URI, text);
    sk_GENERAL_NAME_push(names.get(), name);
  }
  X509_add1_ext_i2d(made.get(), NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT);
  EXPECT_GT(X509_sign(made.get(), key.raw(), EVP_sha256()), 0);
  const BioPtr bio(BIO_new(BIO_s_mem()));
  EXPECT_EQ(i2d_X509_bio(bio.get(), made.get()), 1);
  const Result<Certificate> read = Certificate::FromDer(TextOf(bio.get()));
  GLIM_CHECK(read.ok(), read.status().message());
  return *read;
}

TEST(Certificate, SaysWhoseItIs) {
  const Authority authority = TestAuthority();
  const PrivateKey key = PrivateKey::Make();
  const Certificate node = TestNode(authority, key, "a-1.rack2");
  EXPECT_EQ(NodeNameOf(node), "a-1.rack2");
  EXPECT_EQ(ClusterOf(node), "c1");
  EXPECT_FALSE(node.is_scheduler());
  EXPECT_FALSE(node.is_authority());
  EXPECT_TRUE(node.IsFor(PublicHalf(key)));
  EXPECT_FALSE(node.IsFor(PublicHalf(PrivateKey::Make())));
  EXPECT_EQ(node.issuer_key_id(), authority.certificate.key_id());
  EXPECT_EQ(node.serial().substr(0, 8), authority.certificate.key_id().substr(0, 8));
  EXPECT_EQ(node.serial().substr(8), "010000000000000000000000");
  EXPECT_EQ(node.valid_from(), kTestNow - Minutes(5));
  EXPECT_EQ(node.valid_until(), kTestNow + Hours(720));
  EXPECT_EQ(RenewAt(node).ms, kTestNow.ms - 300'000 + (Hours(720).ms + 300'000) * 2 / 3);

  const Certificate scheduler = TestScheduler(authority, key);
  EXPECT_TRUE(scheduler.is_scheduler());
  EXPECT_EQ(NodeNameOf(scheduler), std::nullopt);
  EXPECT_TRUE(authority.certificate.is_authority());
  EXPECT_EQ(ClusterOf(authority.certificate), "c1");
  EXPECT_EQ(NodeNameOf(authority.certificate), std::nullopt);
}

TEST(Certificate, ItsNameIsOneUriOfOneForm) {
  struct Case {
    std::vector<std::string> uris;
    std::string cluster, node;
  };
  const std::string zero = std::string("glim://c1/node/n1") + '\0' + ".evil";
  for (const Case& c : std::vector<Case>{
           {{"glim://c1/node/n1"}, "c1", "n1"},
           {{"spiffe://other", "glim://c1/node/n1"}, "c1", "n1"},
           {{"glim://c1/node/n1", "glim://c1/node/n2"}, "", ""},
           {{"glim://c1/node/n1", "glim://c1/scheduler"}, "", ""},
           {{"glim://c1/node/"}, "", ""},
           {{"glim://c1/node/N1"}, "", ""},
           {{"glim://c1/node/n1/x"}, "", ""},
           {{"glim://c1/node/n1?x"}, "", ""},
           {{"glim:///node/n1"}, "", ""},
           {{"glim://c 1/node/n1"}, "", ""},
           {{"GLIM://c1/node/n1"}, "", ""},
           {{"glim://c1/authority"}, "", ""},
           {{"glim://c1/schedulers"}, "", ""},
           {{zero}, "", ""},
           {{"glim://c1/node/" + std::string(63, 'n')}, "c1", std::string(63, 'n')},
           {{"glim://c1/node/" + std::string(64, 'n')}, "", ""},
           {{}, "", ""},
       }) {
    const Certificate certificate = WithUris(c.uris);
    EXPECT_EQ(certificate.cluster(), c.cluster) << (c.uris.empty() ? "" : c.uris[0]);
    EXPECT_EQ(certificate.node(), c.node) << (c.uris.empty() ? "" : c.uris[0]);
    EXPECT_EQ(certificate.serial(), "00000000000000000000000000000007");
  }
}

TEST(Certificate, ReadsBackFromBothForms) {
  const Authority authority = TestAuthority();
  const Certificate node = TestNode(authority, PrivateKey::Make());
  EXPECT_EQ(*Certificate::FromDer(node.der()), node);
  EXPECT_EQ(*Certificate::FromPem("words before\n" + node.Pem() + "and behind\n"), node);
  EXPECT_EQ(node.fingerprint().size(), 64U);
  EXPECT_EQ(*ReadCertificates(PemOf({node, authority.certificate})),
            (std::vector<Certificate>{node, authority.certificate}));
  EXPECT_NE(node.fingerprint(), authority.certificate.fingerprint());
}

TEST(Certificate, OtherBytesAreRefused) {
  const Authority authority = TestAuthority();
  const std::string der = authority.certificate.der();
  const std::string pem = authority.certificate.Pem();
  for (const std::string& bytes : {std::string(), std::string("text"), der + '\0', der.substr(0, der.size() - 1),
                                   std::string(kCertificateBytesMax + 1, '0'), "\x30\x80" + der.substr(4)}) {
    const Result<Certificate> read = Certificate::FromDer(bytes);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.status().reason(), "BAD_CERTIFICATE");
  }
  std::string many;
  for (std::size_t i = 0; i <= kCertificatesMax; ++i) many += pem;
  for (const std::string& text : {std::string(), std::string("no certificate"), pem + pem, pem + authority.key.Pem(),
                                  pem.substr(0, pem.size() / 2), many, std::string(1 << 20, '-')}) {
    const Result<Certificate> read = Certificate::FromPem(text);
    ASSERT_FALSE(read.ok()) << text.substr(0, 100);
    EXPECT_EQ(read.status().reason(), "BAD_CERTIFICATE");
  }
  EXPECT_FALSE(ReadCertificates(many).ok());
}

}  // namespace
}  // namespace glim::pki
