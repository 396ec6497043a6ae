#include "sdk/device/testing/test_cuda.h"

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "sdk/base/check.h"
#include "sdk/base/testing/folders.h"
#include "sdk/base/testing/waits.h"
#include "sdk/device/library.h"

namespace glim::device::testing {
namespace {

std::string Wanted() {
  const char* const value = std::getenv("GLIM_TEST_CUDA");
  return value == nullptr ? "" : value;
}

}  // namespace

bool CudaIsReal() { return !Wanted().empty() && Wanted() != "0"; }

std::string StandinCuda() { return BuiltFile("sdk/device/libglim_device_standin.so"); }

std::string CudaRuntime() {
  if (!CudaIsReal()) return StandinCuda();
  return Wanted() == "1" ? "" : Wanted();
}

const TestCuda& TestCuda::Get() {
  static const TestCuda* const cuda = new TestCuda;  // buffers of a test may outlive its main function's statics
  return *cuda;
}

TestCuda::TestCuda() {
  auto runtime = Runtime::Open(CudaRuntime());
  GLIM_CHECK(runtime.ok(), runtime.status().message().c_str());
  runtime_ = std::move(runtime.value());
  const auto library = Library::Open(runtime_->library());
  GLIM_CHECK(library.ok(), "the library is loaded");
  std::string missing;
  library->Need("cudaMalloc", malloc_, missing);
  library->Need("cudaFree", free_, missing);
  library->Need("cudaMemsetAsync", memset_async_, missing);
  GLIM_CHECK(missing.empty(), missing.c_str());
  library->Find("standin_write", write_);
  library->Find("standin_read", read_);
  library->Find("standin_settle", settle_);
  library->Find("standin_unpinned_copies", unpinned_copies_);
}

void TestCuda::Must(const char* what, CudaError error) const {
  const Status status = runtime_->Check(what, error);
  GLIM_CHECK(status.ok(), status.message().c_str());
}

void* TestCuda::Allocate(std::size_t bytes) const {
  void* memory = nullptr;
  Must("cudaMalloc", malloc_(&memory, bytes));
  return memory;
}

void TestCuda::Free(void* memory) const { Must("cudaFree", free_(memory)); }

void TestCuda::Write(void* device, const void* host, std::size_t bytes) const {
  if (write_ != nullptr) return write_(device, host, bytes);
  Copy(device, host, bytes, kCudaMemcpyHostToDevice);
}

void TestCuda::Read(void* host, const void* device, std::size_t bytes) const {
  if (read_ != nullptr) return read_(host, device, bytes);
  Copy(host, device, bytes, kCudaMemcpyDeviceToHost);
}

void TestCuda::Copy(void* to, const void* from, std::size_t bytes, CudaMemcpyKind kind) const {
  const StreamHandle stream = MakeStream();
  Must("cudaMemcpyAsync", runtime_->functions().memcpy_async(to, from, bytes, kind, stream));
  Synchronize(stream);
  DestroyStream(stream);
}

StreamHandle TestCuda::MakeStream() const {
  StreamHandle stream = nullptr;
  Must("cudaStreamCreateWithFlags", runtime_->functions().stream_create_with_flags(&stream, kCudaStreamNonBlocking));
  return stream;
}

void TestCuda::DestroyStream(StreamHandle stream) const {
  Synchronize(stream);
  Must("cudaStreamDestroy", runtime_->functions().stream_destroy(stream));
}

void TestCuda::Synchronize(StreamHandle stream) const {
  Must("cudaStreamSynchronize", runtime_->functions().stream_synchronize(stream));
}

void TestCuda::Launch(StreamHandle stream, void (*call)(void*), void* argument) const {
  Must("cudaLaunchHostFunc", runtime_->functions().launch_host_func(stream, call, argument));
}

void TestCuda::Fill(StreamHandle stream, void* memory, int value, std::size_t bytes) const {
  Must("cudaMemsetAsync", memset_async_(memory, value, bytes, stream));
}

void TestCuda::Settle() const {
  if (settle_ != nullptr) return settle_();
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  static void* const memory = Allocate(kBytes);  // once: to free it would wait for every stream
  std::vector<std::byte> host(kBytes);
  Copy(memory, host.data(), kBytes, kCudaMemcpyHostToDevice);
  Copy(host.data(), memory, kBytes, kCudaMemcpyDeviceToHost);
}

std::uint64_t TestCuda::UnpinnedCopies() const { return unpinned_copies_ == nullptr ? 0 : unpinned_copies_(); }

bool Until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + LongWait();
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace glim::device::testing
