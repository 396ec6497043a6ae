// CRC-32C (Castagnoli), as iSCSI and ext4 use it; by ISA-L.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace glim::checkpoint {

// `before`: the checksum of what precedes, 0 at the start. Crc32c("123456789") is 0xE3069283.
std::uint32_t Crc32c(std::span<const std::byte> data, std::uint32_t before = 0);

}  // namespace glim::checkpoint
