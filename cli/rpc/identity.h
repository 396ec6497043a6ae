// Which authority the scheduler is known by, and which token is shown to it. In this order:
//
//   authority   --ca, GLIM_CA, `ca` of the user's configuration or the machine's; what 'glim login' kept
//   token       --token-file, GLIM_TOKEN_FILE, `token_file` likewise; what 'glim login' kept
//   both        on the scheduler's own host, where they can be read: its operator's folder
//
// Reads files; main thread only.
#pragma once

#include <string>
#include <vector>

#include "cli/rpc/config.h"
#include "sdk/base/result.h"

namespace glim::cli {

struct Identity {
  std::string authorities;  // PEM
  std::string fingerprint;  // of the first of them
  std::string token;        // empty: none was found
  std::string token_file;   // where it was found, for messages
  bool lent = false;        // 'glim logout' may end it
};

// Where the operator's token and the authority's certificate may lie on the scheduler's own host: `token`, `ca.pem`.
std::vector<std::string> OperatorFolders();

// UNAUTHENTICATED: nothing says by which authority the scheduler is known (NO_AUTHORITY); the token was got for a
// scheduler of another authority (OTHER_SERVER). A file that is named and cannot be used is an error of its own; that
// there is no token is none.
Result<Identity> FindIdentity(const Settings& settings, const std::vector<std::string>& operator_folders);

// The same without a token, for a login: what was kept of another server does not count.
Result<Identity> FindAuthority(const Settings& settings, const std::vector<std::string>& operator_folders);

}  // namespace glim::cli
