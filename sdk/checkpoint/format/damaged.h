// What a reader says of a file that it refuses.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "sdk/base/status.h"

namespace glim::checkpoint {

// DATA_LOSS. `field` is part of the message too; empty when it is the file as a whole.
inline Status Damaged(std::string_view reason, std::string field, const std::string& message) {
  return Status(StatusCode::kDataLoss, field.empty() ? message : field + ": " + message)
      .WithReason(std::string(reason))
      .WithField(std::move(field))
      .WithFix("use another checkpoint: this one is damaged");
}

}  // namespace glim::checkpoint
