#include "sdk/tokens/opaque_token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "sdk/base/check.h"
#include "sdk/base/hex.h"
#include "sdk/io/random_bytes.h"

namespace glim {
namespace {

constexpr std::string_view kTokenStart = "glim_";

bool AreHexDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace

OpaqueToken MakeToken() { return {RandomHex(kTokenIdDigits / 2), RandomHex(kTokenSecretDigits / 2)}; }

Result<OpaqueToken> ParseToken(std::string_view text) {
  if (text.size() == kTokenTextBytes && text.starts_with(kTokenStart)) {
    const std::string_view id = text.substr(kTokenStart.size(), kTokenIdDigits);
    const std::string_view secret = text.substr(text.size() - kTokenSecretDigits);
    if (text[kTokenStart.size() + kTokenIdDigits] == '_' && AreHexDigits(id) && AreHexDigits(secret)) {
      return OpaqueToken{std::string(id), std::string(secret)};
    }
  }
  return Status(StatusCode::kUnauthenticated, "this is not a token of Glim")
      .WithReason("BAD_TOKEN")
      .WithField("token")
      .WithFix("give all of glim_ID_SECRET, and nothing else: `glim login` fetches one");
}

std::string HashOf(std::string_view secret) {
  std::array<unsigned char, kTokenHashDigits / 2> digest{};
  unsigned bytes = 0;
  const int done = EVP_Digest(secret.data(), secret.size(), digest.data(), &bytes, EVP_sha256(), nullptr);
  GLIM_CHECK(done == 1 && bytes == digest.size(), "SHA-256 is always there");
  return HexText(digest);
}

bool SameHash(std::string_view a, std::string_view b) {
  return !a.empty() && a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace glim
