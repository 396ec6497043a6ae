// A token from the agent of a host for logins, which is told by the kernel who asks (docs/protocols/identity.md, "The
// login socket"). Blocks; main thread.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::cli {

inline constexpr char kLoginSocket[] = "/run/glim/login.sock";

struct SocketLogin {
  std::string token;
  std::string user;
  std::int64_t expires_at_ms = 0;
  std::string server;       // HOST:PORT; may be empty
  std::string authorities;  // PEM; may be empty
};

// What the agent answers: one line of JSON. INVALID_ARGUMENT (BAD_ANSWER); a refusal as it stands there.
Result<SocketLogin> ReadSocketAnswer(const std::string& line);

// NOT_FOUND (NO_LOGIN_SOCKET): none is there. PERMISSION_DENIED (NOT_TRUSTED): its folder is not root's nor ours, or
// others may write it, so that anybody could have put the socket there. UNAVAILABLE: nobody answers.
Result<SocketLogin> AskLoginSocket(const std::string& path, Duration within);

}  // namespace glim::cli
