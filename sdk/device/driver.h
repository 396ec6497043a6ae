// CUDA's driver, loaded when it is asked for: kernels of our own, copies and their times, for programs that measure a
// GPU and have no CUDA runtime. Every call may hang in the driver: only programs that somebody else can kill make them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/device/driver_types.h"

namespace glim::device {

inline constexpr const char* kDriverLibrary = "libcuda.so.1";
// The reason of a Status that says: there is no GPU for this process.
inline constexpr const char* kNoGpu = "NO_GPU";
// ... that says: the GPU has not what is asked for, because others have it.
inline constexpr const char* kGpuIsTaken = "GPU_IS_TAKEN";

// Any thread.
class Driver {
 public:
  // NOT_FOUND with reason kNoGpu: there is no such library, or it sees no GPU. FAILED_PRECONDITION: it is there and
  // does not work, with its words.
  static Result<std::shared_ptr<const Driver>> Open(const std::string& library = kDriverLibrary);

  Result<int> DeviceCount() const;
  // INTERNAL with the driver's words: "cuMemAlloc: out of memory (2)". With reason kGpuIsTaken where that is why.
  Status Check(const char* what, DriverError error) const;
  const DriverFunctions& functions() const { return functions_; }

 private:
  explicit Driver(const DriverFunctions& functions) : functions_(functions) {}
  DriverFunctions functions_;
};

class Gpu;

// Memory of a GPU, or of the host for its copies. Given back with it; the GPU must outlive it.
class GpuMemory {
 public:
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept;
  ~GpuMemory();
  DeviceAddress address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class Gpu;
  GpuMemory(const Gpu& gpu, DeviceAddress address, std::size_t bytes) : gpu_(&gpu), address_(address), bytes_(bytes) {}
  const Gpu* gpu_ = nullptr;
  DeviceAddress address_ = 0;
  std::size_t bytes_ = 0;
};

class HostMemory {
 public:
  HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();
  void* start() const { return start_; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class Gpu;
  HostMemory(const Gpu& gpu, void* start, std::size_t bytes) : gpu_(&gpu), start_(start), bytes_(bytes) {}
  const Gpu* gpu_ = nullptr;
  void* start_ = nullptr;
  std::size_t bytes_ = 0;
};

// A kernel's arguments, in their order.
class KernelArguments {
 public:
  KernelArguments& Add(std::uint64_t value) {
    values_.push_back(value);
    return *this;
  }
  // For the driver, as long as this lives. Each is read as wide as the kernel says: of 32 bits the low half.
  std::vector<void*> Pointers();

 private:
  std::vector<std::uint64_t> values_;
};

// One GPU, with this process' context on it and a stream. One thread at a time, any thread.
class Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> Open(std::shared_ptr<const Driver> driver, int index);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  int index() const { return index_; }
  const std::string& name() const { return name_; }
  // As /sys/bus/pci/devices has it: 0000:3b:00.0
  const std::string& pci() const { return pci_; }
  int multiprocessors() const { return multiprocessors_; }
  int capability_major() const { return capability_major_; }

  Result<std::size_t> FreeBytes() const;
  Result<GpuMemory> Allocate(std::size_t bytes) const;
  // Pinned; where the calling thread runs, as the kernel places memory.
  Result<HostMemory> AllocateHost(std::size_t bytes) const;

  // PTX text; it stays loaded as long as the GPU is open.
  Status Load(const char* ptx);
  // Of what was loaded. NOT_FOUND.
  Result<DriverHandle> Kernel(const char* name) const;

  // Of the stream, in order.
  Status Launch(DriverHandle kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads,
                KernelArguments arguments) const;
  Status ToDevice(DeviceAddress to, const void* from, std::size_t bytes) const;
  Status ToHost(void* to, DeviceAddress from, std::size_t bytes) const;
  Status ToPeer(const Gpu& peer, DeviceAddress to, DeviceAddress from, std::size_t bytes) const;
  Status Finish() const;
  // How long the stream takes for what `ask` asks it for. Waits for it.
  Result<double> SecondsOf(const std::function<Status()>& ask) const;

  // Whether copies go to `peer` by themselves, without the host's memory between. Switches it on.
  Result<bool> ReachPeer(const Gpu& peer) const;

 private:
  friend class GpuMemory;
  friend class HostMemory;
  explicit Gpu(std::shared_ptr<const Driver> driver, int index) : driver_(std::move(driver)), index_(index) {}
  Status Describe();
  Status Current() const;

  std::shared_ptr<const Driver> driver_;
  int index_;
  int device_ = 0;
  DriverHandle context_ = nullptr;
  DriverHandle stream_ = nullptr;
  std::vector<DriverHandle> modules_;
  std::string name_, pci_;
  int multiprocessors_ = 0;
  int capability_major_ = 0;
};

}  // namespace glim::device
