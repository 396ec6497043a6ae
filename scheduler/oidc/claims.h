// What an ID token has to say before its user is believed. Pure.
#pragma once

#include <string>

#include "scheduler/oidc/jwt.h"
#include "sdk/base/time.h"

namespace glim::oidc {

// The scheduler's configuration, `oidc`.
struct Issuer {
  std::string issuer;                             // empty: nobody signs in by OpenID Connect
  std::string client_id;                          // by which the issuer knows Glim
  std::string user_claim = "preferred_username";  // names the user of Glim
  std::string audience;                           // for whom tokens have to be; empty: client_id
};

inline constexpr Duration kClockSlack = Minutes(1);
inline constexpr Duration kAgeMax = Hours(24);  // of a token, whatever it says itself

// The name of the user. UNAUTHENTICATED (BAD_ID_TOKEN): it is of another issuer, for somebody else, over, not yet, or
// names nobody.
Result<std::string> UserOf(const Jwt& jwt, const Issuer& issuer, TimePoint now);

}  // namespace glim::oidc
