// What this scheduler speaks.
#pragma once

#include "sdk/base/version_range.h"

namespace glim::server {

// With agents (docs/protocols/agent-sync.md). A new field needs no new version; what an agent of before would do wrong
// does. The oldest goes up when nobody runs such agents any more.
inline constexpr VersionRange kProtocolVersions{1, 1};
inline constexpr const char* kVersion = GLIM_VERSION;

}  // namespace glim::server
