// The way that requests go, chosen once for each writer and reader.
#pragma once

#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {

// Chooses as file_writer.h says. INVALID_ARGUMENT for options out of range, UNAVAILABLE for a way that is not there.
Result<std::unique_ptr<Channel>> MakeChannel(const IoOptions& options, const std::string& folder,
                                             IoDirection direction);

}  // namespace glim::checkpoint
