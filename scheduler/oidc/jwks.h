// An issuer's public keys (JSON Web Key Set), and what they have signed. By OpenSSL. Values; any thread.
#pragma once

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/oidc/jwt.h"
#include "sdk/base/result.h"

namespace glim::oidc {

inline constexpr std::size_t kJwksBytesMax = 256 << 10;

struct PublicKey {
  std::string kid;  // empty: not said
  Algorithm algorithm = Algorithm::kRs256;
  std::shared_ptr<EVP_PKEY> key;
};

// Those that sign by RS256 (RSA of 2048 to 8192 bits) or ES256 (P-256); others are left out, and so is what is none.
// DATA_LOSS: it is no key set at all.
Result<std::vector<PublicKey>> ParseJwks(std::string_view text);

// The key that the token names; one that names none is its only key of that algorithm. Null: there is no such key.
const PublicKey* FindKey(const std::vector<PublicKey>& keys, const Jwt& jwt);

bool IsSignedBy(const Jwt& jwt, const PublicKey& key);

}  // namespace glim::oidc
