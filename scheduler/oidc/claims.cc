#include "scheduler/oidc/claims.h"

#include <algorithm>

namespace glim::oidc {

Result<std::string> UserOf(const Jwt& jwt, const Issuer& issuer, TimePoint now) {
  if (jwt.issuer != issuer.issuer) return BadIdToken("it is of another issuer");
  const std::string& wanted = issuer.audience.empty() ? issuer.client_id : issuer.audience;
  if (std::find(jwt.audience.begin(), jwt.audience.end(), wanted) == jwt.audience.end()) {
    return BadIdToken("it is for somebody else");
  }
  const bool told = !jwt.authorized_party.empty();
  if (told ? jwt.authorized_party != issuer.client_id : jwt.audience.size() > 1) {
    return BadIdToken("it was given to somebody else");
  }
  if (now.ms >= jwt.expires_at * 1000 + kClockSlack.ms) return BadIdToken("it counts no more");
  const std::int64_t begins = std::max(jwt.issued_at, jwt.not_before.value_or(0));
  if (now.ms < begins * 1000 - kClockSlack.ms) return BadIdToken("it does not count yet: do the clocks agree?");
  if (now.ms > jwt.issued_at * 1000 + kAgeMax.ms) return BadIdToken("it is more than a day old");
  const auto name = jwt.texts.find(issuer.user_claim);
  if (name == jwt.texts.end() || name->second.empty()) {
    return BadIdToken("it has no claim " + issuer.user_claim + " that names the user");
  }
  return name->second;
}

}  // namespace glim::oidc
