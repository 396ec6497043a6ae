// JSON text as a tree, within bounds. Pure; safe for text from anywhere.
#pragma once

#include <cstddef>
#include <string_view>

#include "proto/json/message_json.h"
#include "sdk/base/result.h"

namespace glim::proto {

inline constexpr std::size_t kReadBytesMax = std::size_t{16} << 20;
inline constexpr std::size_t kReadDepthMax = 32;
inline constexpr std::size_t kReadKeysMax = 1'024;      // of one object
inline constexpr std::size_t kReadValuesMax = 500'000;  // in all: each takes more memory than its text

// One value, and nothing behind it. INVALID_ARGUMENT (BAD_JSON): what is wrong, and where; also for a key that is there
// twice, and for what is nested too deep or has too much in it.
Result<Json> ParseJson(std::string_view text);

}  // namespace glim::proto
