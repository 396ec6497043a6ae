#include "sdk/pki/private_key.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include "sdk/io/testing/temp_folder.h"
#include "sdk/io/write_file.h"
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
  const Result<PrivateKey> read = PrivateKey::FromPem(torn);
  EXPECT_EQ(read.status().message().find(pem.substr(60, 20)), std::string::npos) << "never quoted";
}

TEST(PrivateKey, ItsFileIsOursAlone) {
  TempFolder folder;
  const std::string path = folder.path() + "/key.pem";
  EXPECT_EQ(ReadKeyFile(path).status().code(), StatusCode::kNotFound);
  const PrivateKey key = PrivateKey::Make();
  ASSERT_TRUE(WriteKeyFile(path, key).ok());
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  const Result<PrivateKey> read = ReadKeyFile(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(PublicHalf(*read), PublicHalf(key));

  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(ReadKeyFile(path).status().reason(), "NOT_PRIVATE");
  ASSERT_TRUE(WriteFileAtomically(path, "nothing", Durability::kProcess).ok());
  EXPECT_EQ(ReadKeyFile(path).status().reason(), "BAD_KEY");
  EXPECT_EQ(ReadKeyFile(path).status().field(), path);
}

}  // namespace
}  // namespace glim::pki
