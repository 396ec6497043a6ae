// Requests by io_uring (liburing).
#pragma once

#include <memory>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {

// UNAVAILABLE where the kernel has none or refuses it, as the seccomp profiles of many container runtimes do.
Result<std::unique_ptr<Channel>> MakeUringChannel(const IoOptions& options, IoDirection direction);

}  // namespace glim::checkpoint
