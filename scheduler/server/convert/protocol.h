// What this scheduler speaks.
#pragma once

#include <cstdint>

namespace glim::server {

inline constexpr std::uint32_t kProtocolVersion = 1;  // docs/protocols/agent-sync.md
inline constexpr const char* kVersion = GLIM_VERSION;

}  // namespace glim::server
