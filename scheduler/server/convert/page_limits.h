// How much one answer to a listing holds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace glim::server {

inline constexpr std::uint32_t kPageDefault = 200;  // rows, if the request does not say
inline constexpr std::uint32_t kPageMax = 1000;
inline constexpr std::size_t kPageBytesMax = 3 << 20;  // gRPC's limit for a message is 4 MiB

}  // namespace glim::server
