// What this scheduler speaks.
#pragma once

#include <cstdint>

namespace glim::server {

inline constexpr std::uint32_t kProtocolVersion = 1;  // docs/protocols/agent-sync.md
// Metadata of an answer: milliseconds since 1970; the store is away since then, and the answer is as of that moment.
inline constexpr const char* kStaleSince = "glim-stale-since-ms";
inline constexpr const char* kVersion = GLIM_VERSION;

}  // namespace glim::server
