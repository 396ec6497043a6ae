// Where a secret, or what counts as somebody's word, may be sent and fetched. Pure.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::https {

// https, or http to 127.0.0.1, [::1] or localhost; nothing that names a user, and no other place than it seems.
bool IsSafeUrl(const std::string& url);
// INVALID_ARGUMENT (BAD_URL) if it is not.
Status CheckUrl(const std::string& url);

}  // namespace glim::https
