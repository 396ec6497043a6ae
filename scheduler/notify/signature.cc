#include "scheduler/notify/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"

namespace glim::notify {

std::string Signature(std::string_view secret, std::int64_t unix_seconds, std::string_view body) {
  const std::string time = std::to_string(unix_seconds);
  const std::string text = time + "." + std::string(body);
  std::array<unsigned char, 32> digest{};
  unsigned bytes = 0;
  const unsigned char* made =
      ::HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &bytes);
  GLIM_CHECK(made != nullptr && bytes == digest.size(), "HMAC-SHA-256 is always there");
  return "t=" + time + ",v1=" + HexText(digest);
}

}  // namespace glim::notify
