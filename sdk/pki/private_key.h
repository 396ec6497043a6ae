// A private key on the curve P-256: made here, never sent anywhere.
//
// Errors: INVALID_ARGUMENT (BAD_KEY) for text that is no such key. None quotes the key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sdk/base/result.h"
#include "sdk/base/status.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY

namespace glim::pki {

inline constexpr std::size_t kKeyTextBytesMax = 4096;

// Any thread: nothing changes it. Copies share the key, and its memory is cleared when the last one goes.
class PrivateKey {
 public:
  static PrivateKey Make();
  // PKCS #8 in PEM, not encrypted. Another curve or kind of key is refused.
  static Result<PrivateKey> FromPem(std::string_view pem);

  std::string Pem() const;
  evp_pkey_st* raw() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;
};

// The other half, as it stands in a request or certificate. Any thread.
class PublicKey {
 public:
  // INVALID_ARGUMENT (BAD_KEY): not on P-256, or written in another form than everybody's.
  static Result<PublicKey> Of(const evp_pkey_st* key);
  // SubjectPublicKeyInfo, DER.
  const std::string& der() const { return der_; }
  friend bool operator==(const PublicKey&, const PublicKey&) = default;

 private:
  explicit PublicKey(std::string der) : der_(std::move(der)) {}
  std::string der_;
};
PublicKey PublicHalf(const PrivateKey& key);

}  // namespace glim::pki
