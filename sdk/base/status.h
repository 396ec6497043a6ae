// Status: the outcome of an operation that can fail for reasons outside the program.
//
// Codes are gRPC's canonical ones, so that a Status crosses the wire without translation. Beside the message a
// refusal carries what a person needs to mend it: the field, a fix, and a stable reason (ui: `[QUOTA_EXCEEDED]`).
// Value types, no ownership, safe to use from any thread as long as each thread has its own copy.
#pragma once

#include <string>
#include <utility>

namespace glim {

enum class StatusCode {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return {}; }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // Stable, upper case, for programs and `glim explain`; empty when the code says it all.
  const std::string& reason() const { return reason_; }
  // Path of the offending input, for example "interrupt.grace"; empty when no field is to blame.
  const std::string& field() const { return field_; }
  // What to do about it, as a phrase: "use at most 4 nodes".
  const std::string& fix() const { return fix_; }

  Status&& WithReason(std::string reason) && {
    reason_ = std::move(reason);
    return std::move(*this);
  }
  Status&& WithField(std::string field) && {
    field_ = std::move(field);
    return std::move(*this);
  }
  Status&& WithFix(std::string fix) && {
    fix_ = std::move(fix);
    return std::move(*this);
  }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string reason_;
  std::string field_;
  std::string fix_;
};

inline Status InvalidArgument(std::string field, std::string message, std::string fix = "") {
  return Status(StatusCode::kInvalidArgument, std::move(message))
      .WithReason("INVALID_SPEC")
      .WithField(std::move(field))
      .WithFix(std::move(fix));
}

}  // namespace glim
