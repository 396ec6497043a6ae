// Kernels of the stand-in, executed on the CPU, instruction by instruction. Test code alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sdk/device/testing/standin_ptx.h"

namespace glim::device::standin {

struct PtxLaunch {
  std::uint32_t blocks_x = 1, blocks_y = 1, threads = 1;
  std::vector<std::uint64_t> arguments;
  // Where these bytes of the device lie; null: nowhere.
  std::function<std::byte*(std::uint64_t address, std::size_t bytes)> reach;
};

// How many instructions all threads had. None: an address led nowhere.
std::optional<std::uint64_t> Execute(const PtxKernel& kernel, const PtxLaunch& launch);

}  // namespace glim::device::standin
