#include "scheduler/identity/seal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "sdk/io/random_bytes.h"

namespace glim::identity {
namespace {

ClusterKey KeyThatBegins(unsigned char first) {
  ClusterKey::Bytes bytes{};
  bytes[0] = static_cast<std::byte>(first);
  return ClusterKey(bytes);
}

std::string SealAnew(std::string_view plain) {
  return Seal(KeyThatBegins(1), "secret", "kim/wandb", plain, FillRandomly);
}

TEST(Seal, OpensForItsRowWithItsKey) {
  for (const std::string& plain :
       {std::string(), std::string("a"), std::string("hf_0123"), std::string(1, '\0'), std::string(1 << 20, 'x')}) {
    const std::string sealed = SealAnew(plain);
    EXPECT_EQ(sealed.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/=:"),
              std::string::npos);
    EXPECT_TRUE(plain.size() < 4 || sealed.find(plain) == std::string::npos);
    const Result<std::string> opened = Unseal(KeyThatBegins(1), "secret", "kim/wandb", sealed);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(*opened, plain);
  }
  EXPECT_NE(SealAnew("same"), SealAnew("same")) << "a nonce is used once";
}

TEST(Seal, IsTheAesGcmOfEveryLibrary) {
  // python3, cryptography: AESGCM(b"\x01" + 31 * b"\0").encrypt(12 * b"\x07", b"plain", b"v1:sealed\0ca")
  const auto sevens = [](std::span<std::byte> into) { std::fill(into.begin(), into.end(), std::byte{7}); };
  const std::string sealed = Seal(KeyThatBegins(1), "sealed", "ca", "plain", sevens);
  EXPECT_EQ(sealed, "v1:9d77c91f:BwcHBwcHBwcHBwcHDyZpZoYYipQtsauZaFa/HmKM56lv");
}

TEST(Seal, AnotherKeyIsSaidToBeAnother) {
  const Status status = Unseal(KeyThatBegins(2), "secret", "kim/wandb", SealAnew("plain")).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.reason(), "OTHER_KEY_FILE");
  EXPECT_NE(status.message().find(KeyThatBegins(1).Id()), std::string::npos);
  EXPECT_NE(status.message().find(KeyThatBegins(2).Id()), std::string::npos);
}

TEST(Seal, AnotherRowsBytesAndTornOnesDoNotOpen) {
  const std::string sealed = SealAnew("plain");
  const auto expect_torn = [&](std::string_view kind, std::string_view name, const std::string& bytes) {
    const Status status = Unseal(KeyThatBegins(1), kind, name, bytes).status();
    EXPECT_EQ(status.reason(), "TORN_ROW") << bytes;
    EXPECT_EQ(status.code(), StatusCode::kDataLoss);
    EXPECT_EQ(status.message().find("plain"), std::string::npos);
  };
  expect_torn("secret", "lee/wandb", sealed);
  expect_torn("secret", "kim/other", sealed);
  expect_torn("sealed", "kim/wandb", sealed);
  for (std::size_t at = 0; at < sealed.size(); ++at) expect_torn("secret", "kim/wandb", sealed.substr(0, at));
  for (std::size_t at = 12; at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    expect_torn("secret", "kim/wandb", changed);
  }
  expect_torn("secret", "kim/wandb", sealed + "\n");
  expect_torn("secret", "kim/wandb", sealed + "AAAA");
  expect_torn("secret", "kim/wandb", "v2" + sealed.substr(2));
  expect_torn("secret", "kim/wandb", std::string(4 << 20, 'A'));
}

}  // namespace
}  // namespace glim::identity
