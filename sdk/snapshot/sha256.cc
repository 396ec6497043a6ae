#include "sdk/snapshot/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "sdk/base/check.h"

namespace glim::snapshot {

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  GLIM_CHECK(done == 1 && size == digest.size(), "SHA-256 is not to be had of this OpenSSL");
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

}  // namespace glim::snapshot
