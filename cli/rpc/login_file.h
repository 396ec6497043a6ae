// What 'glim login' keeps: a token, the scheduler that it was got for, and the authority that this scheduler is known
// by. A token is only sent to a scheduler that shows a certificate of that authority.
//
// The file may also be a token alone (glim_ID_SECRET): the operator's on the scheduler's host, a job's own. Stateless,
// any thread. Errors never quote what the file holds.
#pragma once

#include <string>

#include "sdk/base/result.h"

namespace glim::cli {

struct Login {
  std::string server;       // HOST:PORT; empty: the file is a token alone
  std::string fingerprint;  // of the authority; likewise
  std::string authority;    // PEM, one certificate or several; likewise
  std::string token;
  bool lent = false;  // made by this login: 'glim logout' ends the token itself
};

// NOT_FOUND when there is no such file. PERMISSION_DENIED (OPEN_TO_OTHERS) when somebody beside its owner can read or
// write it, or when it is a stranger's. INVALID_ARGUMENT (BAD_TOKEN_FILE) when it is something else.
Result<Login> ReadLogin(const std::string& path);
// In place of what was there; its folder is made, too. Mode 0600.
Status WriteLogin(const std::string& path, const Login& login);
// Nothing there is no fault.
Status RemoveLogin(const std::string& path);

}  // namespace glim::cli
