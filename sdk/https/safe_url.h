// Where a secret, or what counts as somebody's word, may be sent and fetched. Pure.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::https {

// https, or http to 127.0.0.1, [::1] or localhost; nothing that names a user, no other place than it
// seems, a port of 1 to 65535 if any, and no fragment, which nobody would be sent.
bool IsSafeUrl(const std::string& url);
// INVALID_ARGUMENT (BAD_URL) if it is not.
Status CheckUrl(const std::string& url);

}  // namespace glim::https
