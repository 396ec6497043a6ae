// SHA-256 of bytes in memory. Pure.
#pragma once

#include <string>
#include <string_view>

namespace glim::snapshot {

// 64 lower-case hex digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace glim::snapshot
