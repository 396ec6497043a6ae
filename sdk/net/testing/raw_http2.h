// For tests: HTTP/2 written by hand, so that wrong things can be said in it. Headers are plain literals.
#pragma once

#include <cstdint>
#include <string>

#include "sdk/base/check.h"

namespace glim::net::testing {

// RFC 9113, 6; the flags are END_STREAM, END_HEADERS, PADDED.
enum FrameKind : std::uint8_t {
  kRawData = 0,
  kRawHeaders = 1,
  kRawPriority = 2,
  kRawSettings = 4,
  kRawPushPromise = 5,
  kRawGoAway = 7,
  kRawContinuation = 9,
  kRawUnknown = 0x42,
};
inline constexpr std::uint8_t kRawEndStream = 0x1, kRawEndHeaders = 0x4, kRawPadded = 0x8;

inline std::string BigEndian(std::uint32_t value, int bytes) {
  std::string text;
  for (int at = bytes - 1; at >= 0; --at) text.push_back(static_cast<char>(value >> (8 * at)));
  return text;
}

inline std::string RawFrame(std::uint8_t kind, std::uint8_t flags, std::uint32_t stream, const std::string& payload) {
  return BigEndian(static_cast<std::uint32_t>(payload.size()), 3) + BigEndian(kind, 1) + BigEndian(flags, 1) +
         BigEndian(stream, 4) + payload;
}

// What a client says first: with settings, and that it has seen the server's.
inline std::string RawPreface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + RawFrame(kRawSettings, 0, 0, "") + RawFrame(kRawSettings, 1, 0, "");
}

// Goes into no table (RFC 7541, 6.2.2).
inline std::string RawHeader(const std::string& name, const std::string& value) {
  GLIM_CHECK(name.size() < 127 && value.size() < 127, "its length takes more than a byte");
  return std::string(1, '\0') + static_cast<char>(name.size()) + name + static_cast<char>(value.size()) + value;
}

inline std::string RawCallHeaders(const std::string& path) {
  return RawHeader(":method", "POST") + RawHeader(":scheme", "http") + RawHeader(":path", path) +
         RawHeader(":authority", "x") + RawHeader("content-type", "application/grpc") + RawHeader("te", "trailers");
}

inline std::string RawMessage(const std::string& body) {
  return BigEndian(0, 1) + BigEndian(static_cast<std::uint32_t>(body.size()), 4) + body;
}

}  // namespace glim::net::testing
