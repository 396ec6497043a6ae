// Failures on their way to the user: from Status to an exit code and to words. Pure.
#pragma once

#include <string>

#include "sdk/base/status.h"

namespace glim::cli {

// What the process returns; scripts rely on these (docs/cli.md).
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,
  kExitUsage = 2,
  kExitNotFound = 3,
  kExitAuth = 4,
  kExitConflict = 5,
  kExitInfeasible = 6,
  kExitTimeout = 7,
  kExitUnreachable = 8,
  kExitInterrupted = 130,
};

int ExitCodeOf(const Status& status);

// The user's fault on the command line.
Status UsageError(std::string message, std::string fix = "");

// "error: WHAT  [REASON]\n  field: ...\n  fix: ...\n". Escaped, so that nothing from the server moves the cursor.
std::string ErrorText(const Status& status, bool colour);
// {"version":2,"error":{...}} and a newline.
std::string ErrorJson(const Status& status);

}  // namespace glim::cli
