// The certificates that a server shows, before anybody trusts it: who was told the authority's fingerprint finds it
// among them (verify.h, FindAuthority) and trusts that from then on. Nothing is sent but the handshake.
#pragma once

#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/pki/certificate.h"

namespace glim::pki {

// `address`: HOST:PORT. The leaf is first. Blocks, at most for `within` and as long as the resolver of host names
// does; any thread. INVALID_ARGUMENT: no such address. UNAVAILABLE: nobody answers, or not by TLS (NOT_TLS).
// DEADLINE_EXCEEDED: `within` is over.
Result<std::vector<Certificate>> ProbeTls(const std::string& address, Duration within);

}  // namespace glim::pki
