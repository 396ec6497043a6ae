// A rank's buffer on a GPU, by CUDA's runtime as sdk/device loads it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sdk/base/result.h"
#include "sdk/device/runtime.h"

namespace glim::hfreduce::bench {

// Of one thread. Failures are INTERNAL with the runtime's words.
class DeviceMemory {
 public:
  // On the calling thread's device.
  static Result<std::unique_ptr<DeviceMemory>> Create(std::shared_ptr<const device::Runtime> runtime,
                                                      std::size_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::span<std::byte> span() const { return {static_cast<std::byte*>(memory_), bytes_}; }
  // Of all its bytes. Return when the copy is done.
  Status Write(std::span<const std::byte> from) const;
  Status Read(std::span<std::byte> to) const;

 private:
  DeviceMemory(std::shared_ptr<const device::Runtime> runtime, std::size_t bytes)
      : runtime_(std::move(runtime)), bytes_(bytes) {}
  Status Copy(void* to, const void* from, device::CudaMemcpyKind kind) const;

  std::shared_ptr<const device::Runtime> runtime_;
  std::size_t bytes_;
  void* memory_ = nullptr;
  device::CudaError (*free_)(void*) = nullptr;
};

}  // namespace glim::hfreduce::bench
