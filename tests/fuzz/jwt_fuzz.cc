// Any bytes as an issuer's ID token, and as its key set: parts within their bounds, or a refusal that quotes nothing.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/oidc/claims.h"
#include "scheduler/oidc/jwks.h"
#include "scheduler/oidc/jwt.h"
#include "tests/fuzz/holds.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using glim::fuzz::Holds;
  using namespace glim::oidc;  // NOLINT: one function, all of it about these
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto keys = ParseJwks(text);
  const auto jwt = ParseJwt(text);
  if (!jwt.ok()) {
    Holds(jwt.status().reason() == "BAD_ID_TOKEN" && !jwt.status().message().empty(), "a refusal has words");
    return 0;
  }
  Holds(!jwt->audience.empty() && !jwt->signature.empty(), "it is for somebody, and signed");
  Holds(jwt->issued_at >= 0 && jwt->expires_at >= 0 && jwt->not_before.value_or(0) >= 0, "times");
  Holds(text.starts_with(jwt->signed_part), "what is signed is what stands there");
  const Issuer issuer{"https://issuer.example", "glim", "preferred_username", ""};
  const auto user = UserOf(*jwt, issuer, glim::TimePoint{1'795'000'001'000});
  Holds(!user.ok() || !user->empty(), "a user has a name");
  static const auto key = ParseJwks(R"({"keys": [{"kty": "EC", "crv": "P-256",
      "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})");
  Holds(key.ok() && key->size() == 1, "the key is one");
  Holds(!IsSignedBy(*jwt, key->front()) || jwt->algorithm == Algorithm::kEs256, "signed by the algorithm of the key");
  return 0;
}
