#include "tests/bench/hfreduce/device_memory.h"

#include "sdk/device/library.h"

namespace glim::hfreduce::bench {

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::Create(std::shared_ptr<const device::Runtime> runtime,
                                                           std::size_t bytes) {
  const Result<device::Library> library = device::Library::Open(runtime->library());
  if (!library.ok()) return library.status();
  device::CudaError (*allocate)(void**, std::size_t) = nullptr;
  std::unique_ptr<DeviceMemory> made(new DeviceMemory(std::move(runtime), bytes));
  std::string missing;
  library->Need("cudaMalloc", allocate, missing);
  library->Need("cudaFree", made->free_, missing);
  if (!missing.empty()) return Status(StatusCode::kInternal, library->name() + " has no function " + missing);
  if (Status status = made->runtime_->Check("cudaMalloc", allocate(&made->memory_, bytes)); !status.ok()) return status;
  return made;
}

DeviceMemory::~DeviceMemory() {
  if (memory_ != nullptr) (void)runtime_->Check("cudaFree", free_(memory_));
}

Status DeviceMemory::Write(std::span<const std::byte> from) const {
  return Copy(memory_, from.data(), device::kCudaMemcpyHostToDevice);
}

Status DeviceMemory::Read(std::span<std::byte> to) const {
  return Copy(to.data(), memory_, device::kCudaMemcpyDeviceToHost);
}

Status DeviceMemory::Copy(void* to, const void* from, device::CudaMemcpyKind kind) const {
  const device::CudaFunctions& cuda = runtime_->functions();
  const Status asked = runtime_->Check("cudaMemcpyAsync", cuda.memcpy_async(to, from, bytes_, kind, nullptr));
  if (!asked.ok()) return asked;
  return runtime_->Check("cudaStreamSynchronize", cuda.stream_synchronize(nullptr));
}

}  // namespace glim::hfreduce::bench
