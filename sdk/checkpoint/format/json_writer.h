// The two things that take thought in writing JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glim::checkpoint {

void AppendNumber(std::string& out, std::uint64_t number);

// In quotes. `text` must be UTF-8: else nlohmann::json::type_error is thrown.
void AppendQuoted(std::string& out, std::string_view text);

}  // namespace glim::checkpoint
