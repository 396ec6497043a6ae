// Why there is no connection: gRPC says the same of a server that is gone, one that shows another authority's
// certificate, and one that does not speak TLS, so the server is asked once more, for its certificates alone.
// Blocks for two seconds at most; main thread.
#pragma once

#include <string>

#include "sdk/base/status.h"
#include "sdk/base/time.h"

namespace glim::cli {

// Ok: it is not the authority's or the mode's fault. `authorities`: PEM; empty: the call was made without TLS.
// UNAUTHENTICATED (WRONG_AUTHORITY, CERTIFICATE_EXPIRED), UNAVAILABLE (NOT_TLS, TLS_WANTED).
Status TlsFault(const std::string& server, const std::string& authorities, TimePoint now);

}  // namespace glim::cli
