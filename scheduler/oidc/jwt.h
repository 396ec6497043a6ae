// An OpenID Connect ID token (JSON Web Token, compact form), taken apart. Nothing of it counts until its signature has
// been verified (jwks.h) and its claims have been checked (claims.h). Pure; bounds before anything is decoded.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"

namespace glim::oidc {

inline constexpr std::size_t kTokenBytesMax = 16 << 10;

// No others: "none", and HS*, by which whoever knows the issuer's public key could sign, are refused.
enum class Algorithm { kRs256, kEs256 };

struct Jwt {
  Algorithm algorithm = Algorithm::kRs256;
  std::string kid;          // empty: not said
  std::string signed_part;  // what the signature is over
  std::string signature;    // bytes
  std::string issuer;
  std::vector<std::string> audience;
  std::string authorized_party;  // azp; empty: not said
  std::int64_t issued_at = 0;    // seconds since the epoch, as the next two
  std::int64_t expires_at = 0;
  std::optional<std::int64_t> not_before;
  std::map<std::string, std::string> texts;  // the other claims that are texts
};

// UNAUTHENTICATED (BAD_ID_TOKEN): what is wrong with its form. The message quotes nothing of it.
Result<Jwt> ParseJwt(std::string_view text);

// Base64 for URLs without padding, as Base64 has one spelling of every byte string: nothing else is taken.
std::optional<std::string> DecodeBase64Url(std::string_view text);

Status BadIdToken(const std::string& what);

}  // namespace glim::oidc
