// CUDA as a test has it: the stand-in (standin_cuda.h), or the machine's own with GLIM_TEST_CUDA=1 in the environment.
// Another value is the path of a libcudart. Contract tests run over both; what looks into the stand-in runs over that
// alone. Test code alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sdk/device/runtime.h"

namespace glim::device::testing {

bool CudaIsReal();
// The path of the stand-in, which is CUDA's driver as well.
std::string StandinCuda();
// For Runtime::Open and CommunicatorOptions::cuda_runtime. Loads nothing: a process that forks must not have used CUDA.
std::string CudaRuntime();

// Any thread. What fails ends the process with the runtime's words.
class TestCuda {
 public:
  // Loads the library at the first call in a process.
  static const TestCuda& Get();

  const std::shared_ptr<const Runtime>& runtime() const { return runtime_; }
  // On the calling thread's device.
  void* Allocate(std::size_t bytes) const;
  void Free(void* memory) const;
  // At once, whatever the streams of a test do.
  void Write(void* device, const void* host, std::size_t bytes) const;
  void Read(void* host, const void* device, std::size_t bytes) const;

  // A stream that the default one does not wait for.
  StreamHandle MakeStream() const;
  // Waits for what the stream has.
  void DestroyStream(StreamHandle stream) const;
  void Synchronize(StreamHandle stream) const;
  // Work of a stream. `call` must not call CUDA.
  void Launch(StreamHandle stream, void (*call)(void*), void* argument) const;
  void Fill(StreamHandle stream, void* memory, int value, std::size_t bytes) const;

  // Returns when what can happen without the test has happened. Of a real device nobody knows that: there it returns
  // when work that was asked for later is done, on a stream of its own.
  void Settle() const;
  // Copies between the device and host memory that was not pinned, in this process. A real device does not count: 0.
  std::uint64_t UnpinnedCopies() const;

 private:
  TestCuda();
  void Must(const char* what, CudaError error) const;
  void Copy(void* to, const void* from, std::size_t bytes, CudaMemcpyKind kind) const;

  std::shared_ptr<const Runtime> runtime_;
  CudaError (*malloc_)(void**, std::size_t) = nullptr;
  CudaError (*free_)(void*) = nullptr;
  CudaError (*memset_async_)(void*, int, std::size_t, StreamHandle) = nullptr;
  // The stand-in's own; null over a real one.
  void (*write_)(void*, const void*, std::size_t) = nullptr;
  void (*read_)(void*, const void*, std::size_t) = nullptr;
  void (*settle_)() = nullptr;
  std::uint64_t (*unpinned_copies_)() = nullptr;
};

// False if the condition is not met within 20 seconds.
bool Until(const std::function<bool()>& condition);

}  // namespace glim::device::testing
