// What is wanted of a checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace glim::checkpoint {

// Bytes [at, at + into.size()) of a tensor. Whole chunks are checked where they lie; a chunk that is wanted in part is
// read whole beside and checked there.
struct LoadRange {
  std::string tensor;
  std::uint64_t at = 0;
  std::span<std::byte> into;
};

}  // namespace glim::checkpoint
