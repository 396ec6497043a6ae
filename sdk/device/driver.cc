#include "sdk/device/driver.h"

#include <algorithm>
#include <cctype>

#include "sdk/device/library.h"

namespace glim::device {
namespace {

constexpr std::size_t kNameBytes = 256;
constexpr DriverError kPeerAccessAlreadyEnabled = 704;

Result<DriverFunctions> DriverFunctionsOf(const Library& library) {
  DriverFunctions f;
  std::string missing;
  library.Need("cuInit", f.init, missing);
  library.Need("cuGetErrorString", f.get_error_string, missing);
  library.Need("cuDeviceGetCount", f.device_get_count, missing);
  library.Need("cuDeviceGet", f.device_get, missing);
  library.Need("cuDeviceGetName", f.device_get_name, missing);
  library.Need("cuDeviceGetAttribute", f.device_get_attribute, missing);
  library.Need("cuDeviceGetPCIBusId", f.device_get_pci_bus_id, missing);
  library.Need("cuDeviceCanAccessPeer", f.device_can_access_peer, missing);
  library.Need("cuDevicePrimaryCtxRetain", f.primary_context_retain, missing);
  library.Need("cuDevicePrimaryCtxRelease_v2", f.primary_context_release, missing);
  library.Need("cuCtxSetCurrent", f.context_set_current, missing);
  library.Need("cuCtxEnablePeerAccess", f.context_enable_peer_access, missing);
  library.Need("cuMemGetInfo_v2", f.memory_get_info, missing);
  library.Need("cuMemAlloc_v2", f.memory_allocate, missing);
  library.Need("cuMemFree_v2", f.memory_free, missing);
  library.Need("cuMemHostAlloc", f.host_allocate, missing);
  library.Need("cuMemFreeHost", f.host_free, missing);
  library.Need("cuMemcpyHtoDAsync_v2", f.copy_to_device, missing);
  library.Need("cuMemcpyDtoHAsync_v2", f.copy_to_host, missing);
  library.Need("cuMemcpyPeerAsync", f.copy_to_peer, missing);
  library.Need("cuStreamCreate", f.stream_create, missing);
  library.Need("cuStreamSynchronize", f.stream_synchronize, missing);
  library.Need("cuStreamDestroy_v2", f.stream_destroy, missing);
  library.Need("cuEventCreate", f.event_create, missing);
  library.Need("cuEventRecord", f.event_record, missing);
  library.Need("cuEventSynchronize", f.event_synchronize, missing);
  library.Need("cuEventElapsedTime", f.event_elapsed, missing);
  library.Need("cuEventDestroy_v2", f.event_destroy, missing);
  library.Need("cuModuleLoadData", f.module_load, missing);
  library.Need("cuModuleUnload", f.module_unload, missing);
  library.Need("cuModuleGetFunction", f.module_get_function, missing);
  library.Need("cuLaunchKernel", f.launch, missing);
  if (missing.empty()) return f;
  return Status(StatusCode::kFailedPrecondition, library.name() + " has no function " + missing)
      .WithFix("use a driver of CUDA 11 or later");
}

Status NoGpu(const std::string& why) {
  return Status(StatusCode::kNotFound, "there is no GPU for this process: " + why).WithReason(kNoGpu);
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::Open(const std::string& name) {
  const Result<Library> library = Library::Open(name);
  if (!library.ok()) return NoGpu(library.status().message());
  const Result<DriverFunctions> functions = DriverFunctionsOf(*library);
  if (!functions.ok()) return functions.status();
  std::shared_ptr<const Driver> driver(new Driver(*functions));
  const DriverError begun = functions->init(0);
  if (begun == kDriverNoDevice) return NoGpu(driver->Check("cuInit", begun).message());
  if (const Status status = driver->Check("cuInit", begun); !status.ok()) {
    return Status(StatusCode::kFailedPrecondition, "the GPUs' driver does not work: " + status.message())
        .WithFix("look at `nvidia-smi` and the kernel's log; load the driver anew, or start the node anew");
  }
  const Result<int> count = driver->DeviceCount();
  if (!count.ok()) return count.status();
  if (*count == 0) return NoGpu("the driver sees none");
  return driver;
}

Result<int> Driver::DeviceCount() const {
  int count = 0;
  if (Status status = Check("cuDeviceGetCount", functions_.device_get_count(&count)); !status.ok()) return status;
  return count;
}

Status Driver::Check(const char* what, DriverError error) const {
  if (error == kDriverSuccess) return Status::Ok();
  const char* text = nullptr;
  if (functions_.get_error_string(error, &text) != kDriverSuccess || text == nullptr) text = "unknown error";
  const bool taken = error == kDriverOutOfMemory || error == kDriverDeviceUnavailable;
  return Status(StatusCode::kInternal, std::string(what) + ": " + text + " (" + std::to_string(error) + ")")
      .WithReason(taken ? kGpuIsTaken : "");
}

GpuMemory& GpuMemory::operator=(GpuMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

GpuMemory::~GpuMemory() {
  if (gpu_ != nullptr && gpu_->Current().ok()) (void)gpu_->driver_->functions().memory_free(address_);
}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(gpu_, other.gpu_);
  std::swap(start_, other.start_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

HostMemory::~HostMemory() {
  if (gpu_ != nullptr && gpu_->Current().ok()) (void)gpu_->driver_->functions().host_free(start_);
}

std::vector<void*> KernelArguments::Pointers() {
  std::vector<void*> pointers;
  for (std::uint64_t& value : values_) pointers.push_back(&value);
  return pointers;
}

Result<std::unique_ptr<Gpu>> Gpu::Open(std::shared_ptr<const Driver> driver, int index) {
  std::unique_ptr<Gpu> gpu(new Gpu(std::move(driver), index));
  const Driver& d = *gpu->driver_;
  const DriverFunctions& f = d.functions();
  Status status = d.Check("cuDeviceGet", f.device_get(&gpu->device_, index));
  if (status.ok()) status = gpu->Describe();
  if (!status.ok()) return status;
  DriverHandle context = nullptr;
  status = d.Check("cuDevicePrimaryCtxRetain", f.primary_context_retain(&context, gpu->device_));
  if (!status.ok()) return status;
  gpu->context_ = context;
  status = gpu->Current();
  if (status.ok()) status = d.Check("cuStreamCreate", f.stream_create(&gpu->stream_, kStreamNonBlocking));
  if (!status.ok()) return status;
  return gpu;
}

Status Gpu::Describe() {
  const DriverFunctions& f = driver_->functions();
  char name[kNameBytes] = {}, pci[kNameBytes] = {};
  Status status = driver_->Check("cuDeviceGetName", f.device_get_name(name, kNameBytes, device_));
  if (status.ok()) status = driver_->Check("cuDeviceGetPCIBusId", f.device_get_pci_bus_id(pci, kNameBytes, device_));
  const auto ask = [&](int attribute, int* value) {
    if (status.ok()) {
      status = driver_->Check("cuDeviceGetAttribute", f.device_get_attribute(value, attribute, device_));
    }
  };
  ask(kAttributeMultiprocessors, &multiprocessors_);
  ask(kAttributeCapabilityMajor, &capability_major_);
  name_ = name;
  pci_ = pci;
  std::transform(pci_.begin(), pci_.end(), pci_.begin(), [](unsigned char c) { return std::tolower(c); });
  return status;
}

Gpu::~Gpu() {
  if (context_ == nullptr) return;
  const DriverFunctions& f = driver_->functions();
  if (Current().ok()) {
    for (const DriverHandle module : modules_) (void)f.module_unload(module);
    if (stream_ != nullptr) (void)f.stream_destroy(stream_);
  }
  (void)f.primary_context_release(device_);
}

Status Gpu::Current() const {
  return driver_->Check("cuCtxSetCurrent", driver_->functions().context_set_current(context_));
}

Result<std::size_t> Gpu::FreeBytes() const {
  if (Status status = Current(); !status.ok()) return status;
  std::size_t free = 0, total = 0;
  const Status status = driver_->Check("cuMemGetInfo", driver_->functions().memory_get_info(&free, &total));
  if (!status.ok()) return status;
  return free;
}

Result<GpuMemory> Gpu::Allocate(std::size_t bytes) const {
  if (Status status = Current(); !status.ok()) return status;
  DeviceAddress address = 0;
  const Status status = driver_->Check("cuMemAlloc", driver_->functions().memory_allocate(&address, bytes));
  if (!status.ok()) return status;
  return GpuMemory(*this, address, bytes);
}

Result<HostMemory> Gpu::AllocateHost(std::size_t bytes) const {
  if (Status status = Current(); !status.ok()) return status;
  void* start = nullptr;
  const DriverError error = driver_->functions().host_allocate(&start, bytes, kHostAllocPortable);
  if (const Status status = driver_->Check("cuMemHostAlloc", error); !status.ok()) return status;
  return HostMemory(*this, start, bytes);
}

Status Gpu::Load(const char* ptx) {
  if (Status status = Current(); !status.ok()) return status;
  DriverHandle module = nullptr;
  Status status = driver_->Check("cuModuleLoadData", driver_->functions().module_load(&module, ptx));
  if (status.ok()) modules_.push_back(module);
  return status;
}

Result<DriverHandle> Gpu::Kernel(const char* name) const {
  if (Status status = Current(); !status.ok()) return status;
  for (const DriverHandle module : modules_) {
    DriverHandle kernel = nullptr;
    if (driver_->functions().module_get_function(&kernel, module, name) == kDriverSuccess) return kernel;
  }
  return Status(StatusCode::kNotFound, std::string("no module has a kernel ") + name);
}

Status Gpu::Launch(DriverHandle kernel, unsigned blocks_x, unsigned blocks_y, unsigned threads,
                   KernelArguments arguments) const {
  if (Status status = Current(); !status.ok()) return status;
  std::vector<void*> pointers = arguments.Pointers();
  return driver_->Check("cuLaunchKernel", driver_->functions().launch(kernel, blocks_x, blocks_y, 1, threads, 1, 1, 0,
                                                                      stream_, pointers.data(), nullptr));
}

Status Gpu::ToDevice(DeviceAddress to, const void* from, std::size_t bytes) const {
  if (Status status = Current(); !status.ok()) return status;
  return driver_->Check("cuMemcpyHtoDAsync", driver_->functions().copy_to_device(to, from, bytes, stream_));
}

Status Gpu::ToHost(void* to, DeviceAddress from, std::size_t bytes) const {
  if (Status status = Current(); !status.ok()) return status;
  return driver_->Check("cuMemcpyDtoHAsync", driver_->functions().copy_to_host(to, from, bytes, stream_));
}

Status Gpu::ToPeer(const Gpu& peer, DeviceAddress to, DeviceAddress from, std::size_t bytes) const {
  if (Status status = Current(); !status.ok()) return status;
  return driver_->Check("cuMemcpyPeerAsync",
                        driver_->functions().copy_to_peer(to, peer.context_, from, context_, bytes, stream_));
}

Status Gpu::Finish() const {
  if (Status status = Current(); !status.ok()) return status;
  return driver_->Check("cuStreamSynchronize", driver_->functions().stream_synchronize(stream_));
}

Result<double> Gpu::SecondsOf(const std::function<Status()>& ask) const {
  if (Status status = Current(); !status.ok()) return status;
  const DriverFunctions& f = driver_->functions();
  DriverHandle begin = nullptr, end = nullptr;
  float ms = 0;
  Status status = driver_->Check("cuEventCreate", f.event_create(&begin, 0));
  if (status.ok()) status = driver_->Check("cuEventCreate", f.event_create(&end, 0));
  if (status.ok()) status = driver_->Check("cuEventRecord", f.event_record(begin, stream_));
  if (status.ok()) status = ask();
  if (status.ok()) status = driver_->Check("cuEventRecord", f.event_record(end, stream_));
  if (status.ok()) status = driver_->Check("cuEventSynchronize", f.event_synchronize(end));
  if (status.ok()) status = driver_->Check("cuEventElapsedTime", f.event_elapsed(&ms, begin, end));
  if (begin != nullptr) (void)f.event_destroy(begin);
  if (end != nullptr) (void)f.event_destroy(end);
  if (!status.ok()) return status;
  return static_cast<double>(ms) * 1e-3;
}

Result<bool> Gpu::ReachPeer(const Gpu& peer) const {
  if (Status status = Current(); !status.ok()) return status;
  const DriverFunctions& f = driver_->functions();
  int can = 0;
  const DriverError asked = f.device_can_access_peer(&can, device_, peer.device_);
  if (Status status = driver_->Check("cuDeviceCanAccessPeer", asked); !status.ok()) return status;
  if (can == 0) return false;
  const DriverError error = f.context_enable_peer_access(peer.context_, 0);
  if (error == kPeerAccessAlreadyEnabled) return true;
  if (Status status = driver_->Check("cuCtxEnablePeerAccess", error); !status.ok()) return status;
  return true;
}

}  // namespace glim::device
