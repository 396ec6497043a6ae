// Whether a certificate is good: signed by one of the authorities, in time, and for what it is shown for. Stateless,
// any thread; the caller says the time.
#pragma once

#include <string>
#include <vector>

#include "sdk/base/status.h"
#include "sdk/base/time.h"
#include "sdk/pki/certificate.h"

namespace glim::pki {

enum class Purpose { kNode, kScheduler };

// UNAUTHENTICATED: CERTIFICATE_EXPIRED (ended, or not yet begun), WRONG_PURPOSE, UNKNOWN_AUTHORITY (also: a signature
// that is not the authority's).
Status VerifyLeaf(const Certificate& leaf, const std::vector<Certificate>& authorities, Purpose purpose, TimePoint now);

// What an agent checks before it takes a certificate for itself: VerifyLeaf, for this node of this cluster, for this
// key. UNAUTHENTICATED (NOT_OURS): it is for another name, cluster or key.
Status VerifyOwn(const Certificate& leaf, const std::vector<Certificate>& authorities, const std::string& cluster,
                 const std::string& node, const PrivateKey& key, TimePoint now);

// The authority with this fingerprint, of what a server showed (tls_probe.h): 64 hexadecimal digits of either case,
// colons between them are fine. It signed itself, and the first of `chain`. INVALID_ARGUMENT: no fingerprint.
// UNAUTHENTICATED (FINGERPRINT): none has it, that is, another server answers, or the invitation is of another time.
Result<Certificate> FindAuthority(const std::vector<Certificate>& chain, std::string_view fingerprint);

}  // namespace glim::pki
