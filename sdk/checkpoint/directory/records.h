// The two small files of a checkpoint directory: job.json (whose it is) and attempt-N/base.json (what an attempt goes
// on from). Strict: what is not exactly as we write it is DATA_LOSS.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/checkpoint/directory/names.h"

namespace glim::checkpoint {

inline constexpr char kJobName[] = "job.json";
inline constexpr char kBaseName[] = "base.json";
inline constexpr char kHintName[] = "latest";  // a symbolic link, for people
inline constexpr std::size_t kRecordBytesMax = 64 << 10;
inline constexpr std::size_t kJobBytesMax = 1024;
inline constexpr std::size_t kBeforeMax = 64;  // checkpoints before the base

struct BaseRecord {
  std::optional<CheckpointId> base;
  std::vector<CheckpointId> before;  // ascending, all below `base`; empty without one
  friend bool operator==(const BaseRecord&, const BaseRecord&) = default;
};

std::string JobText(std::string_view job);
Result<std::string> ParseJob(std::string_view text);
std::string BaseText(std::uint32_t attempt, const BaseRecord& record);
// Of `attempt`; everything in it is of lower attempts.
Result<BaseRecord> ParseBase(std::string_view text, std::uint32_t attempt);

}  // namespace glim::checkpoint
