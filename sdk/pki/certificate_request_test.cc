#include "sdk/pki/certificate_request.h"

#include <gtest/gtest.h>

#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

std::string DerOf(X509_REQ* request) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509_REQ(request, &bytes);
  EXPECT_GT(size, 0);
  std::string der(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

// A request of another kind of key, well signed.
std::string RequestOf(EVP_PKEY* key) {
  const KeyPtr owned(key);
  const RequestPtr request(X509_REQ_new());
  EXPECT_EQ(X509_REQ_set_pubkey(request.get(), owned.get()), 1);
  EXPECT_GT(X509_REQ_sign(request.get(), owned.get(), EVP_sha256()), 0);
  return DerOf(request.get());
}

void ExpectRefused(const std::string& der, const std::string& what) {
  const Result<PublicKey> key = ReadRequest(der);
  ASSERT_FALSE(key.ok()) << what;
  EXPECT_EQ(key.status().reason(), "BAD_CSR") << what;
  EXPECT_EQ(key.status().field(), "csr") << what;
  EXPECT_EQ(key.status().code(), StatusCode::kInvalidArgument) << what;
}

TEST(CertificateRequest, TellsTheKeyThatSignedIt) {
  const PrivateKey key = PrivateKey::Make();
  for (const std::string& name : {std::string("n1"), std::string(), std::string(300, 'n'), std::string("\xff\xfe")}) {
    const std::string der = MakeRequest(key, name);
    EXPECT_LE(der.size(), kRequestBytesMax);
    const Result<PublicKey> read = ReadRequest(der);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, PublicHalf(key));
  }
}

TEST(CertificateRequest, AnyOtherBytesAreRefused) {
  const std::string der = MakeRequest(PrivateKey::Make(), "n1");
  ExpectRefused("", "nothing");
  ExpectRefused("text", "no DER");
  ExpectRefused(std::string(kRequestBytesMax + 1, '0'), "too long");
  ExpectRefused(der + '\0', "bytes behind it");
  ExpectRefused(RequestOf(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384")), "another curve");
  ExpectRefused(RequestOf(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048})), "RSA");
  for (std::size_t at = 0; at < der.size(); at += 7) {
    ExpectRefused(der.substr(0, at), "cut at " + std::to_string(at));
    std::string changed = der;
    changed[at] = static_cast<char>(changed[at] ^ 0x11);
    ExpectRefused(changed, "changed at " + std::to_string(at));
  }
}

TEST(CertificateRequest, SomebodyElsesKeyIsRefused) {
  // Mallory knows the key of another node and asks for a certificate of it, signed by his own.
  const PrivateKey mine = PrivateKey::Make(), theirs = PrivateKey::Make();
  const RequestPtr request(X509_REQ_new());
  ASSERT_EQ(X509_REQ_set_pubkey(request.get(), theirs.raw()), 1);
  ASSERT_GT(X509_REQ_sign(request.get(), mine.raw(), EVP_sha256()), 0);
  ExpectRefused(DerOf(request.get()), "not its own signature");
}

}  // namespace
}  // namespace glim::pki
