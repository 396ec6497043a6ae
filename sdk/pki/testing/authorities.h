// For tests: authorities and what they sign, at a time of the tests' own. Any thread.
#pragma once

#include <string>

#include "sdk/base/check.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/private_key.h"
#include "sdk/pki/sign.h"

namespace glim::pki {

inline constexpr TimePoint kTestNow{1'800'000'000'000};  // 2027-01-15

inline Lifetime LifetimeOf(Duration length, TimePoint now = kTestNow) { return {now - Minutes(5), now + length}; }

inline Authority TestAuthority(const std::string& cluster = "c1",
                               const Lifetime& lifetime = LifetimeOf(Hours(87'600))) {
  Result<Authority> made = MakeAuthority(cluster, SerialTail{}, lifetime);
  GLIM_CHECK(made.ok(), made.status().message());
  return std::move(made).value();
}

inline Certificate TestNode(const Authority& authority, const PrivateKey& key, const std::string& node = "n1",
                            const Lifetime& lifetime = LifetimeOf(Hours(720))) {
  Result<Certificate> made = SignNode(authority, "c1", node, PublicHalf(key), SerialTail{std::byte{1}}, lifetime);
  GLIM_CHECK(made.ok(), made.status().message());
  return std::move(made).value();
}

inline Certificate TestScheduler(const Authority& authority, const PrivateKey& key,
                                 const ServerNames& names = {{"localhost"}, {"127.0.0.1", "::1"}},
                                 const Lifetime& lifetime = LifetimeOf(Hours(8'760))) {
  Result<Certificate> made = SignScheduler(authority, "c1", names, PublicHalf(key), SerialTail{std::byte{2}}, lifetime);
  GLIM_CHECK(made.ok(), made.status().message());
  return std::move(made).value();
}

}  // namespace glim::pki
