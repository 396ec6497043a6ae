#include "nodeagent/identity/received_credentials.h"

#include <algorithm>
#include <utility>

#include "sdk/log/log.h"
#include "sdk/pki/verify.h"

namespace glim::nodeagent {

Result<std::vector<pki::Certificate>> ReadAuthorities(const CertificatesDer& der) {
  std::vector<pki::Certificate> authorities;
  for (const std::string& one : der) {
    auto authority = pki::Certificate::FromDer(one);
    if (!authority.ok()) return authority.status();
    authorities.push_back(std::move(authority).value());
  }
  if (authorities.empty() || authorities.size() > pki::kCertificatesMax) {
    return InvalidArgument("authorities", "the scheduler names no authorities, or too many");
  }
  return authorities;
}

Result<NodeCredentials> CheckReceived(const std::string& certificate, const CertificatesDer& authorities,
                                      const std::string& cluster, const std::string& node, const pki::PrivateKey& key,
                                      TimePoint now) {
  auto own = pki::Certificate::FromDer(certificate);
  if (!own.ok()) return own.status();
  auto trusted = ReadAuthorities(authorities);
  if (!trusted.ok()) return trusted.status();
  // At its last second it has ended, for OpenSSL.
  const TimePoint last = std::max(own->valid_from(), own->valid_until() - Seconds(1));
  const TimePoint in_force = std::clamp(now, own->valid_from(), last);
  if (Status good = pki::VerifyOwn(*own, *trusted, cluster, node, key, in_force); !good.ok()) return good;
  if (in_force != now) {
    LogWarning("event=clock_differs certificate_from_ms={} certificate_until_ms={} here_ms={} note=\"set this clock\"",
               own->valid_from().ms, own->valid_until().ms, now.ms);
  }
  return NodeCredentials{key, std::move(own).value(), std::move(trusted).value()};
}

}  // namespace glim::nodeagent
