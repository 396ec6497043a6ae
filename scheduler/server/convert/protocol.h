// What this scheduler speaks.
#pragma once

#include "sdk/base/version_range.h"

namespace glim::server {

// With agents (docs/protocols/agent-sync.md). A new field needs no new version; what an agent of before would do wrong
// does. The oldest goes up when nobody runs such agents any more.
inline constexpr VersionRange kProtocolVersions{1, 1};
// Metadata of an answer: milliseconds since 1970; the store is away since then, and the answer is as of that moment.
inline constexpr const char* kStaleSince = "glim-stale-since-ms";
inline constexpr const char* kVersion = GLIM_VERSION;

}  // namespace glim::server
