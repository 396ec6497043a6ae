#include "scheduler/oidc/testing/issuer.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>

#include <vector>

namespace glim::oidc::testing {
namespace {

using nlohmann::json;

std::string NumberOf(EVP_PKEY* key, const char* name, int bytes) {
  BIGNUM* number = nullptr;
  EXPECT_EQ(EVP_PKEY_get_bn_param(key, name, &number), 1);
  std::string text(static_cast<std::size_t>(bytes > 0 ? bytes : BN_num_bytes(number)), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()), static_cast<int>(text.size()));
  BN_free(number);
  return text;
}

}  // namespace

std::string Base64Url(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  unsigned held = 0;
  unsigned bits = 0;
  for (const char c : bytes) {
    held = held << 8U | static_cast<unsigned char>(c);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += kDigits[held >> bits & 63U];
    }
  }
  if (bits > 0) text += kDigits[held << (6 - bits) & 63U];
  return text;
}

SigningKey::SigningKey(std::string algorithm, std::string kid)
    : algorithm_(std::move(algorithm)),
      kid_(std::move(kid)),
      key_(algorithm_ == "ES256" ? EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")
                                 : EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", std::size_t{2048}),
           EVP_PKEY_free) {}

json SigningKey::Public() const {
  json key = {{"kid", kid_}, {"use", "sig"}, {"alg", algorithm_}};
  if (algorithm_ == "ES256") {
    key["kty"] = "EC";
    key["crv"] = "P-256";
    key["x"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32));
    key["y"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32));
  } else {
    key["kty"] = "RSA";
    key["n"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_N, 0));
    key["e"] = Base64Url(NumberOf(key_.get(), OSSL_PKEY_PARAM_RSA_E, 0));
  }
  return key;
}

std::string SigningKey::Signature(const std::string& text) const {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  std::string signature(1024, '\0');
  std::size_t bytes = signature.size();
  EXPECT_EQ(EVP_DigestSignInit(context, nullptr, EVP_sha256(), nullptr, key_.get()), 1);
  EXPECT_EQ(EVP_DigestSign(context, reinterpret_cast<unsigned char*>(signature.data()), &bytes,
                           reinterpret_cast<const unsigned char*>(text.data()), text.size()),
            1);
  EVP_MD_CTX_free(context);
  signature.resize(bytes);
  if (algorithm_ != "ES256") return signature;
  const auto* der = reinterpret_cast<const unsigned char*>(signature.data());
  ECDSA_SIG* both = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(signature.size()));
  std::string raw(64, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(both), reinterpret_cast<unsigned char*>(raw.data()), 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(both), reinterpret_cast<unsigned char*>(raw.data()) + 32, 32);
  ECDSA_SIG_free(both);
  return raw;
}

std::string SigningKey::Sign(const json& claims, const json& header) const {
  json all = {{"alg", algorithm_}, {"typ", "JWT"}};
  if (!kid_.empty()) all["kid"] = kid_;
  all.update(header);
  const std::string text = Base64Url(all.dump()) + "." + Base64Url(claims.dump());
  return text + "." + Base64Url(Signature(text));
}

std::string KeySet(const std::vector<const SigningKey*>& keys) {
  json set = {{"keys", json::array()}};
  for (const SigningKey* key : keys) set["keys"].push_back(key->Public());
  return set.dump();
}

json Claims() {
  return {{"iss", kIssuer},   {"aud", "glim"},         {"sub", "1234"}, {"preferred_username", "kim"},
          {"iat", kIssuedAt}, {"exp", kIssuedAt + 300}};
}

}  // namespace glim::oidc::testing
