// What is saved: named, typed, dense arrays in row-major order, and the part of one that a process holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/dtype.h"
#include "sdk/base/result.h"

namespace glim::checkpoint {

using glim::DType;

inline constexpr std::uint64_t kTensorBytesMax = std::uint64_t{1} << 62;
inline constexpr std::size_t kTensorNameBytesMax = 1024;
inline constexpr std::size_t kDimensionsMax = 16;

// Product of `shape` times SizeOf(dtype); nothing when it, or that of the first dimensions, is above kTensorBytesMax.
std::optional<std::uint64_t> BytesOf(DType dtype, std::span<const std::uint64_t> shape);

// One tensor as the whole job sees it. A value.
struct TensorInfo {
  // 1 to 1,024 bytes of UTF-8 without control characters, unique in a checkpoint; not "__metadata__", which is the
  // safetensors format's own.
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::uint64_t> shape;  // at most 16 dimensions; {} is a scalar; 0 is allowed

  // BytesOf(dtype, shape). OUT_OF_RANGE above 2^62.
  Result<std::uint64_t> bytes() const;
  // INVALID_ARGUMENT with what is wrong with the name or the shape.
  Status Check() const;
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

// The rows (first dimension) of a distributed tensor that a process holds: [first, first + count).
struct Rows {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  friend bool operator==(const Rows&, const Rows&) = default;
};

// Whether all ranks hold the same bytes, so that one of them may write them.
enum class Placement : std::uint8_t { kOwn, kReplicated, kRows };

// A tensor to save, in the caller's memory, which must stay as it is until the copy has been taken.
struct SaveTensor {
  TensorInfo info;  // of the whole tensor: with kRows `shape` is the global one
  Placement placement = Placement::kOwn;
  Rows rows;                        // with kRows; any further dimension is held whole
  std::span<const std::byte> data;  // what this process holds: all of it, or its rows
  bool on_device = false;           // `data` is a device address: copied by the copy stream, never read here
};

}  // namespace glim::checkpoint
