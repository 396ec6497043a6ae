// One GET of a public document, by libcurl. Blocks; any thread, each call for itself.
#pragma once

#include <string>

#include "sdk/base/result.h"

namespace glim::oidc {

// https, or http to loopback; nothing that names a user, and no other place than it seems.
bool IsSafeUrl(const std::string& url);

// At most 256 KiB within ten seconds; no redirects. INVALID_ARGUMENT: not IsSafeUrl. UNAVAILABLE: no answer, another
// one than 200, too long a one, or a certificate that the machine's authorities do not vouch for.
Result<std::string> HttpsGet(const std::string& url);

}  // namespace glim::oidc
