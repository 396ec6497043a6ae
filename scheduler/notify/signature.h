// How a receiver knows that a webhook's body is this cluster's and not an old one again (notifications.md). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace glim::notify {

inline constexpr char kSignatureHeader[] = "Glim-Signature";

// "t=1700000000,v1=HEX": HMAC-SHA256 over "1700000000.BODY".
std::string Signature(std::string_view secret, std::int64_t unix_seconds, std::string_view body);

}  // namespace glim::notify
