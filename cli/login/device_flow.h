// A login at an OpenID Connect issuer by its device flow (RFC 8628): the user opens an address in any browser and types
// a code, and `glim` asks the issuer until that is done. What comes out is the issuer's ID token, which the scheduler
// verifies and exchanges for one of its own. Blocks; main thread.
#pragma once

#include <functional>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"
#include "sdk/https/https.h"

namespace glim::cli {

struct DeviceFlow {
  std::string issuer;
  std::string client;
  // Told once: what the user is to do.
  std::function<void(const std::string& address, const std::string& code)> show;
  // Waits; true when the user does not want to wait any more.
  std::function<bool(Duration)> pause;
};

// The ID token. UNAVAILABLE: the issuer cannot be reached, or does not speak as it should (BAD_ISSUER).
// PERMISSION_DENIED (LOGIN_DENIED): the user said no there. DEADLINE_EXCEEDED (LOGIN_EXPIRED): nobody typed the code.
// CANCELLED: `pause` said so.
Result<std::string> LoginAtIssuer(https::Client& http, const DeviceFlow& flow);

}  // namespace glim::cli
