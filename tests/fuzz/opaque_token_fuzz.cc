// Any bytes as a token: one that is written as it was read, or a refusal that quotes nothing of it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sdk/tokens/opaque_token.h"
#include "tests/fuzz/holds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glim::fuzz::Holds;
  static const std::string refusal = glim::ParseToken("").status().message();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto token = glim::ParseToken(text);
  if (!token.ok()) {
    Holds(token.status().reason() == "BAD_TOKEN" && token.status().message() == refusal, "one refusal for all");
    return 0;
  }
  Holds(token->Text() == text, "a token has one form", text);
  Holds(token->id.size() == glim::kTokenIdDigits && token->secret.size() == glim::kTokenSecretDigits, "sizes", text);
  const std::string hash = glim::HashOf(token->secret);
  Holds(hash.size() == glim::kTokenHashDigits && glim::SameHash(hash, glim::HashOf(token->secret)), "a hash", hash);
  return 0;
}
