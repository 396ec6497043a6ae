#include "sdk/tokens/fetch_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/io/random_bytes.h"

namespace glim {
namespace {

using TokenBytes = std::array<unsigned char, 32>;

}  // namespace

std::string MakeSaveKey() { return RandomHex(sizeof(TokenBytes)); }

std::string FetchToken(const std::string& key, std::uint64_t job, const std::string& local, const std::string& reader) {
  const std::string text = "fetch\n" + std::to_string(job) + "\n" + local + "\n" + reader;
  TokenBytes digest{};
  unsigned bytes = 0;
  const unsigned char* made =
      ::HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &bytes);
  GLIM_CHECK(made != nullptr && bytes == digest.size(), "HMAC-SHA-256 is always there");
  return HexText(digest);
}

bool SameToken(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace glim
