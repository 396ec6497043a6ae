#include "sdk/pki/private_key.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>

#include "sdk/pki/openssl_ptr.h"

namespace glim::pki {
namespace {

std::string PemOfKind(EVP_PKEY* key) {
  const KeyPtr owned(key);
  const BioPtr bio(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_PrivateKey(bio.get(), owned.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  return TextOf(bio.get());
}

TEST(PrivateKey, ReadsBackFromItsText) {
  const PrivateKey key = PrivateKey::Make();
  const Result<PrivateKey> again = PrivateKey::FromPem(key.Pem());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(PublicHalf(*again), PublicHalf(key));
  EXPECT_FALSE(PublicHalf(PrivateKey::Make()) == PublicHalf(key));
}

TEST(PrivateKey, OtherKindsAndOtherTextsAreRefused) {
  const std::string pem = PrivateKey::Make().Pem();
  std::string torn = pem;
  torn[60] = torn[60] == 'A' ? 'B' : 'A';
  for (const std::string& text :
       {std::string(), std::string("key"), pem.substr(0, pem.size() / 2), std::string(kKeyTextBytesMax + 1, ' '),
        PemOfKind(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-384")),
        PemOfKind(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048})),
        PemOfKind(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")),
        std::string("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n")}) {
    const Result<PrivateKey> key = PrivateKey::FromPem(text);
    ASSERT_FALSE(key.ok()) << text;
    EXPECT_EQ(key.status().reason(), "BAD_KEY");
    EXPECT_EQ(key.status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(PrivateKey::FromPem(std::string_view()).status().reason(), "BAD_KEY") << "a view of nowhere";
  const Result<PrivateKey> read = PrivateKey::FromPem(torn);
  EXPECT_EQ(read.status().message().find(pem.substr(60, 20)), std::string::npos) << "never quoted";
}

}  // namespace
}  // namespace glim::pki
