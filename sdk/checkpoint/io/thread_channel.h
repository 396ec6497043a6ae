// Requests by a few threads that call pread and pwrite: works everywhere.
#pragma once

#include <memory>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {

// Owns min(depth, 16) threads, which take no signals. UNAVAILABLE when not even one can be started.
Result<std::unique_ptr<Channel>> MakeThreadChannel(const IoOptions& options, IoDirection direction);

}  // namespace glim::checkpoint
