#include "sdk/checkpoint/format/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace glim::checkpoint {

std::uint32_t Crc32c(std::span<const std::byte> data, std::uint32_t before) {
  // ISA-L's function works on the bare register: the inversion before and after, which the standard has, is left to the
  // caller. It takes an int for the length and does not write to what it is given.
  constexpr std::size_t kCallBytesMax = std::size_t{1} << 30;
  std::uint32_t sum = ~before;
  while (!data.empty()) {
    const std::size_t bytes = std::min(data.size(), kCallBytesMax);
    auto* bytes_in = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(data.data()));
    sum = crc32_iscsi(bytes_in, static_cast<int>(bytes), sum);
    data = data.subspan(bytes);
  }
  return ~sum;
}

}  // namespace glim::checkpoint
