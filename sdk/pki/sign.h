// Makes certificates: an authority's own, and those that it signs. The caller keeps the authority's key, says the time
// and draws the serial. Stateless, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/private_key.h"

namespace glim::pki {

// In every scheduler's certificate, beside the names of where it listens: whoever connects by another name or address
// checks for this one.
inline constexpr char kSchedulerName[] = "glim-scheduler";

// The random end of a serial; its begin are the first 4 bytes of the signing key's id.
using SerialTail = std::array<std::byte, 12>;
struct Lifetime {
  TimePoint from, until;
};
struct Authority {
  PrivateKey key;
  Certificate certificate;
};
// What a scheduler is reached by. An address is an IPv4 or IPv6 one, without brackets or port.
struct ServerNames {
  std::vector<std::string> dns, addresses;
};

// Signs itself. It may sign leaves and no further authority. INVALID_ARGUMENT: `cluster` is no name of one.
Result<Authority> MakeAuthority(const std::string& cluster, const SerialTail& serial, const Lifetime& lifetime);

// clientAuth alone: glim://CLUSTER/node/NODE. INVALID_ARGUMENT: a name that cannot stand there. FAILED_PRECONDITION
// (AUTHORITY_EXPIRED): the authority does not live as long as `lifetime.from`; a lifetime that ends after the
// authority's own ends with it.
Result<Certificate> SignNode(const Authority& authority, const std::string& cluster, const std::string& node,
                             const PublicKey& key, const SerialTail& serial, const Lifetime& lifetime);

// serverAuth alone: glim://CLUSTER/scheduler, kSchedulerName, and `names`. Errors as above; INVALID_ARGUMENT names a
// DNS name or an address that is none.
Result<Certificate> SignScheduler(const Authority& authority, const std::string& cluster, const ServerNames& names,
                                  const PublicKey& key, const SerialTail& serial, const Lifetime& lifetime);

}  // namespace glim::pki
