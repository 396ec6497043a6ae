// The BatchReader, over whichever channel.
#pragma once

#include <memory>

#include "sdk/checkpoint/io/batch_reader.h"
#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {

// `channel` is one for reading, made with the same options.
std::unique_ptr<BatchReader> MakeRangeReader(std::unique_ptr<Channel> channel, const IoOptions& options);

}  // namespace glim::checkpoint
