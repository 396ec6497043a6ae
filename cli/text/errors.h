// Failures on their way to the user: from gRPC to Status, to an exit code, to words. Pure.
#pragma once

#include <string>

#include <grpcpp/support/status.h>

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

// A refused call with its glim.v1.ErrorDetail, if it carries one.
Status FromGrpc(const grpc::Status& status);

// The user's fault on the command line.
Status UsageError(std::string message, std::string fix = "");

// "error: WHAT  [REASON]\n  field: ...\n  fix: ...\n". Escaped, so that nothing from the server moves the cursor.
std::string ErrorText(const Status& status, bool colour);
// {"version":1,"error":{...}} and a newline.
std::string ErrorJson(const Status& status);

}  // namespace glim::cli
