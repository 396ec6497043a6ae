#include "sdk/snapshot/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"

namespace glim::snapshot {

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  GLIM_CHECK(done == 1 && size == digest.size(), "SHA-256 is not to be had of this OpenSSL");
  return HexText(digest);
}

}  // namespace glim::snapshot
