#include "scheduler/core/model/cordon.h"

#include <cstddef>

#include "sdk/base/utf8.h"

namespace glim::core {
namespace {

constexpr std::size_t kReasonBytesMax = 500;

}  // namespace

Status CheckReason(const std::string& reason) {
  if (reason.size() > kReasonBytesMax) {
    return InvalidArgument("reason", std::to_string(reason.size()) + " bytes are too much",
                           "say it in at most " + std::to_string(kReasonBytesMax));
  }
  if (!reason.empty() && reason.find_first_not_of(' ') == std::string::npos) {
    return InvalidArgument("reason", "has nothing but spaces", "say why, for those who ask");
  }
  if (HasControl(reason)) return InvalidArgument("reason", "has a control character", "write it as one line of text");
  return Status::Ok();
}

std::string WithReason(const std::string& who, const std::string& reason) {
  return reason.empty() ? who : who + ": " + reason;
}

std::string CordonInWords(const Cordon& cordon) {
  const char* what = !cordon.drain ? "cordoned" : cordon.drained ? "drained" : "being drained";
  const std::string by = cordon.by.empty() ? "an operator" : cordon.by;  // of a scheduler that knows no users
  return std::string(what) + " by " + WithReason(by, cordon.reason);
}

}  // namespace glim::core
