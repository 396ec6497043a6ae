// The FileWriter, over whichever channel.
#pragma once

#include <memory>

#include "sdk/checkpoint/io/channel.h"
#include "sdk/checkpoint/io/file_writer.h"

namespace glim::checkpoint {

// `channel` is one for writing, made with the same options.
std::unique_ptr<FileWriter> MakeImageWriter(std::unique_ptr<Channel> channel, const IoOptions& options);

}  // namespace glim::checkpoint
