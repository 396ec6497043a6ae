// Requests by 3FS's USRBIO. Unverified on a real 3FS: written against its published interface, tested with a small
// library of ours that does the same on files.
#pragma once

#include <memory>
#include <string>

#include "sdk/base/result.h"
#include "sdk/checkpoint/io/channel.h"

namespace glim::checkpoint {

// Whether `folder` may be on 3FS, whose client is a FUSE file system: a cheap look before a library is loaded.
bool MayBeUsrbio(const std::string& folder);

// Every request is copied once, through memory that 3FS shares with us: `depth` places of `block_bytes`. UNAVAILABLE
// when there is no library (IoOptions::usrbio_library), or `folder` is not on 3FS.
Result<std::unique_ptr<Channel>> MakeUsrbioChannel(const IoOptions& options, const std::string& folder,
                                                   IoDirection direction);

}  // namespace glim::checkpoint
