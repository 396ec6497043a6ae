#include "sdk/checkpoint/replica/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glim::checkpoint {
namespace {

const std::string kSecret = "a secret of the cluster";

TEST(Token, IsOfTheJobAndTheSecret) {
  const std::string token = JobToken(kSecret, "17");
  EXPECT_EQ(token.size(), 64U);
  EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(token, JobToken(kSecret, "17"));
  EXPECT_NE(token, JobToken(kSecret, "18"));
  EXPECT_NE(token, JobToken(kSecret + "!", "17"));
}

// `printf 'glim-replica job 17' | openssl dgst -sha256 -hmac 'a secret of the cluster'`
TEST(Token, IsPlainHmacSha256) {
  EXPECT_EQ(JobToken(kSecret, "17"), "17d1ca2d114828d90c115a242d7c88030cb4cabd544572a051e7b09858b290c7");
}

TEST(Token, AProofIsOfOneSideOneJobAndOneConnection) {
  Nonce a{};
  Nonce b{};
  b[0] = std::byte{1};
  const Proof proof = Prove("t", Side::kClient, "17", a, b);
  EXPECT_TRUE(Same(proof, Prove("t", Side::kClient, "17", a, b)));
  EXPECT_FALSE(Same(proof, Prove("u", Side::kClient, "17", a, b)));
  EXPECT_FALSE(Same(proof, Prove("t", Side::kService, "17", a, b)));
  EXPECT_FALSE(Same(proof, Prove("t", Side::kClient, "18", a, b)));
  EXPECT_FALSE(Same(proof, Prove("t", Side::kClient, "17", b, a)));
  EXPECT_NE(MakeNonce(), MakeNonce());
}

TEST(Token, ASecretsFileIsItsOwnersAlone) {
  const std::string path = ::testing::TempDir() + "replica-secret-" + std::to_string(::getpid());
  std::ofstream(path) << kSecret << " \n\n";
  ::chmod(path.c_str(), 0600);
  EXPECT_EQ(ReadSecret(path).value(), kSecret);
  ::chmod(path.c_str(), 0640);
  EXPECT_EQ(ReadSecret(path).status().code(), StatusCode::kPermissionDenied);
  ::chmod(path.c_str(), 0600);
  std::ofstream(path) << "short\n";
  EXPECT_EQ(ReadSecret(path).status().code(), StatusCode::kInvalidArgument);
  std::ofstream(path) << std::string(kSecretBytesMax + 1, 'x');
  EXPECT_EQ(ReadSecret(path).status().code(), StatusCode::kInvalidArgument);
  std::filesystem::remove(path);
  EXPECT_EQ(ReadSecret(path).status().code(), StatusCode::kNotFound);
}

TEST(Token, ASecretComesThroughADescriptorToo) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], kSecret.data(), kSecret.size()), static_cast<ssize_t>(kSecret.size()));
  ::close(ends[1]);
  EXPECT_EQ(ReadSecret(ends[0]).value(), kSecret);
  EXPECT_EQ(ReadSecret(-1).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace glim::checkpoint
