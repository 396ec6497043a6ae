// Memory on a device, the stand-in's or a real one (test_cuda.h), with what a test puts there. Test code alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sdk/device/testing/test_cuda.h"

namespace glim::device::testing {

class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) : memory_(TestCuda::Get().Allocate(bytes)), bytes_(bytes) {}
  ~DeviceBuffer() { TestCuda::Get().Free(memory_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::size_t size() const { return bytes_; }
  std::span<std::byte> span() const { return {data(), bytes_}; }
  void Write(std::span<const std::byte> from) const { TestCuda::Get().Write(memory_, from.data(), from.size()); }
  void Fill(std::byte value) const { Write(std::vector<std::byte>(bytes_, value)); }
  std::vector<std::byte> Read() const {
    std::vector<std::byte> to(bytes_);
    TestCuda::Get().Read(to.data(), memory_, bytes_);
    return to;
  }

 private:
  void* memory_;
  std::size_t bytes_;
};

}  // namespace glim::device::testing
