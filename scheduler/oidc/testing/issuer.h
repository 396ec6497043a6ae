// An issuer for tests: keys by OpenSSL, and tokens that they sign.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

namespace glim::oidc::testing {

std::string Base64Url(const std::string& bytes);

class SigningKey {
 public:
  // "RS256" or "ES256".
  SigningKey(std::string algorithm, std::string kid);

  const std::string& kid() const { return kid_; }
  // As it stands in a key set.
  nlohmann::json Public() const;
  // HEADER.CLAIMS.SIGNATURE; `header` is added to what the key says of itself.
  std::string Sign(const nlohmann::json& claims, const nlohmann::json& header = nlohmann::json::object()) const;

 private:
  std::string Signature(const std::string& text) const;
  const std::string algorithm_;
  const std::string kid_;
  std::shared_ptr<EVP_PKEY> key_;
};

// {"keys": [...]}
std::string KeySet(const std::vector<const SigningKey*>& keys);

inline constexpr const char* kIssuer = "https://issuer.example";
inline constexpr std::int64_t kIssuedAt = 1'795'000'000;  // seconds

// Of kim, for the client "glim", for five minutes.
nlohmann::json Claims();

}  // namespace glim::oidc::testing
