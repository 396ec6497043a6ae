// Memory of the stand-in's device, with what a test puts there. Test code alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/device/testing/standin_cuda.h"

namespace glim::device::testing {

class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : bytes_(bytes) { GLIM_CHECK(cudaMalloc(&memory_, bytes) == 0, "memory"); }
  ~DeviceBuffer() { cudaFree(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data(), bytes_}; }
  void Write(std::span<const std::byte> from) const { standin_write(memory_, from.data(), from.size()); }
  void Fill(std::byte value) const { Write(std::vector<std::byte>(bytes_, value)); }
  std::vector<std::byte> Read() const {
    std::vector<std::byte> to(bytes_);
    standin_read(to.data(), memory_, bytes_);
    return to;
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_;
};

}  // namespace glim::device::testing
