#include "sdk/checkpoint/io/dio_alignment.h"

// The kernel's own header: the C library's struct has no such fields yet, and both do not go into one source.
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace glim::checkpoint {

std::uint64_t DirectMemoryAlignment(int fd) {
  constexpr std::uint64_t kUnknown = 4096;
#ifdef STATX_DIOALIGN
  constexpr int kOfDescriptor = 0x1000;  // AT_EMPTY_PATH
  struct statx found {};
  if (::syscall(SYS_statx, fd, "", kOfDescriptor, STATX_DIOALIGN, &found) == 0 &&
      (found.stx_mask & STATX_DIOALIGN) != 0) {
    const std::uint64_t alignment = found.stx_dio_mem_align;
    // Offsets are always given at whole pages.
    if (alignment > 0 && kUnknown % alignment == 0 && kUnknown % found.stx_dio_offset_align == 0) return alignment;
  }
#else
  static_cast<void>(fd);
#endif
  return kUnknown;
}

}  // namespace glim::checkpoint
