#include "cli/text/errors.h"

#include <fmt/format.h>

#include "cli/text/render_json.h"
#include "cli/text/style.h"
#include "cli/text/text.h"
#include "glim/v1/common.pb.h"
#include "sdk/base/status_name.h"

namespace glim::cli {
namespace {

const std::string& ReasonOf(const Status& status, std::string* storage) {
  if (!status.reason().empty()) return status.reason();
  *storage = StatusName(status.code());
  return *storage;
}

}  // namespace

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kCancelled: return kExitInterrupted;
    case StatusCode::kInvalidArgument:
    case StatusCode::kOutOfRange: return kExitUsage;
    case StatusCode::kNotFound: return kExitNotFound;
    case StatusCode::kUnauthenticated:
    case StatusCode::kPermissionDenied: return kExitAuth;
    case StatusCode::kAlreadyExists:
    case StatusCode::kAborted: return kExitConflict;
    case StatusCode::kFailedPrecondition: return kExitInfeasible;
    case StatusCode::kResourceExhausted:
      // Not the job's fault: try again.
      if (status.reason() == "OVERLOADED" || status.reason() == "LOG_BUSY") return kExitUnreachable;
      // Without a reason it is a limit of the transport, not a verdict on the job.
      return status.reason().empty() ? kExitFailed : kExitInfeasible;
    case StatusCode::kDeadlineExceeded: return kExitTimeout;
    case StatusCode::kUnavailable: return kExitUnreachable;
    case StatusCode::kUnknown:
    case StatusCode::kUnimplemented:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss: return kExitFailed;
  }
  return kExitFailed;
}

Status UsageError(std::string message, std::string fix) {
  return Status(StatusCode::kInvalidArgument, std::move(message)).WithReason("USAGE").WithFix(std::move(fix));
}

std::string ErrorText(const Status& status, bool colour) {
  std::string storage;
  const std::string& reason = ReasonOf(status, &storage);
  // A message of several lines: the first says what, the others why.
  const std::string& message = status.message();
  const std::size_t first_end = message.find('\n');
  std::string out = Tint("error:", Style::kBad, colour) + " " + Escaped(message.substr(0, first_end));
  out += fmt::format("  [{}]\n", Escaped(reason));
  for (std::size_t at = first_end; at != std::string::npos;) {
    const std::size_t end = message.find('\n', at + 1);
    const std::string line = message.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    if (!line.empty()) out += fmt::format("  {}\n", Escaped(line));
    at = end;
  }
  if (!status.field().empty()) out += fmt::format("  field: {}\n", Escaped(status.field()));
  if (!status.fix().empty()) out += fmt::format("  fix: {}\n", Escaped(status.fix()));
  return out;
}

std::string ErrorJson(const Status& status) {
  std::string storage;
  Json error;
  error["code"] = StatusName(status.code());
  error["reason"] = ReasonOf(status, &storage);
  error["message"] = status.message();
  error["field"] = status.field();
  error["fix"] = status.fix();
  error["exit_code"] = ExitCodeOf(status);
  Json document = NewDocument();
  document["error"] = std::move(error);
  return DumpJson(document);
}

}  // namespace glim::cli
