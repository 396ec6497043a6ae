// Copies between buffers and the segment.
#pragma once

#include <cstddef>

namespace glim::hfreduce {

// Past the caches if `stream`: for a destination that nobody reads soon. Other threads may read it after a release.
void CopyBytes(void* to, const void* from, std::size_t bytes, bool stream);

}  // namespace glim::hfreduce
