// What O_DIRECT asks of memory.
#pragma once

#include <cstdint>

namespace glim::checkpoint {

// Of the file behind `fd`: 4 bytes on many NVMe disks, 512 on others; 4096 where the kernel does not say (before 6.1).
std::uint64_t DirectMemoryAlignment(int fd);

}  // namespace glim::checkpoint
