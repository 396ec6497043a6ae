// The end of a rank's log, kept after its attempt's end beside the history: the log itself lies on the rank's node and
// goes with it. Plain.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::store {

struct LogTail {
  core::AttemptId attempt;
  std::uint32_t rank = 0;   // global
  TimePoint ended_at;       // of the attempt
  std::string node;         // the name of the node that the rank ran on
  std::int64_t offset = 0;  // of data's first byte in the log; what came before it is not kept
  std::string data;         // any bytes
  friend bool operator==(const LogTail&, const LogTail&) = default;
};

struct LogTailKey {
  core::AttemptId attempt;
  std::uint32_t rank = 0;
  friend auto operator<=>(const LogTailKey&, const LogTailKey&) = default;
};

// What a row costs beside its bytes, for the bound of all rows: many empty tails are not free.
inline constexpr std::int64_t kLogTailRowBytes = 256;

}  // namespace glim::store
