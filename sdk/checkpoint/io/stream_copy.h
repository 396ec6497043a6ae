// A copy past the caches, for memory that this processor does not read soon.
#pragma once

#include <cstddef>

namespace glim::checkpoint {

// As memcpy, without reading the destination's lines first. Everybody sees the bytes when it has returned. Where the
// processor is not known it is memcpy. (The C library does the same only for runs beyond most of the last cache, 195
// MiB where this was measured: there 1 GiB took 93 ms in pieces of 1 MiB or more; memcpy 95 ms in one piece, and 155 to
// 215 ms in pieces of 16 MiB to 4 KiB.)
void StreamCopy(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace glim::checkpoint
