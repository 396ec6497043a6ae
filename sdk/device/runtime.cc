#include "sdk/device/runtime.h"

#include "sdk/device/library.h"

namespace glim::device {
namespace {

constexpr int kVersionMin = 11000;
// What CUDA's releases call it, the newest first.
constexpr std::initializer_list<const char*> kLibraries = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0",
                                                           "libcudart.so"};

Result<CudaFunctions> FunctionsOf(const Library& library) {
  CudaFunctions f;
  std::string missing;
  library.Need("cudaRuntimeGetVersion", f.runtime_get_version, missing);
  library.Need("cudaGetDeviceCount", f.get_device_count, missing);
  library.Need("cudaGetDevice", f.get_device, missing);
  library.Need("cudaSetDevice", f.set_device, missing);
  library.Need("cudaGetLastError", f.get_last_error, missing);
  library.Need("cudaGetErrorString", f.get_error_string, missing);
  library.Need("cudaPointerGetAttributes", f.pointer_get_attributes, missing);
  library.Need("cudaHostRegister", f.host_register, missing);
  library.Need("cudaHostUnregister", f.host_unregister, missing);
  library.Need("cudaHostAlloc", f.host_alloc, missing);
  library.Need("cudaFreeHost", f.free_host, missing);
  library.Need("cudaStreamCreateWithFlags", f.stream_create_with_flags, missing);
  library.Need("cudaStreamDestroy", f.stream_destroy, missing);
  library.Need("cudaStreamSynchronize", f.stream_synchronize, missing);
  library.Need("cudaStreamWaitEvent", f.stream_wait_event, missing);
  library.Need("cudaMemcpyAsync", f.memcpy_async, missing);
  library.Need("cudaLaunchHostFunc", f.launch_host_func, missing);
  library.Need("cudaEventCreateWithFlags", f.event_create_with_flags, missing);
  library.Need("cudaEventRecord", f.event_record, missing);
  library.Need("cudaEventQuery", f.event_query, missing);
  library.Need("cudaEventSynchronize", f.event_synchronize, missing);
  library.Need("cudaEventDestroy", f.event_destroy, missing);
  constexpr const char* kPrimaryContext = "cuDevicePrimaryCtxGetState";
  library.Find(kPrimaryContext, f.primary_context_get_state);
  const Result<Library> driver = Library::Loaded({"libcuda.so.1"});
  if (driver.ok()) driver->Find(kPrimaryContext, f.primary_context_get_state);
  if (missing.empty()) return f;
  return Status(StatusCode::kUnavailable, library.name() + " has no function " + missing);
}

Status CheckVersion(const CudaFunctions& functions, const std::string& name) {
  int version = 0;
  if (functions.runtime_get_version(&version) == kCudaSuccess && version >= kVersionMin) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition,
                name + " is version " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10))
      .WithFix("use CUDA 11 or later");
}

}  // namespace

Result<std::shared_ptr<const Runtime>> Runtime::Open(const std::string& path) {
  const Result<Library> library = path.empty() ? Library::Open(kLibraries) : Library::Open(path);
  if (!library.ok()) {
    return Status(StatusCode::kUnavailable, "no CUDA runtime: " + library.status().message())
        .WithFix("install it, or give the path of its libcudart.so");
  }
  const Result<CudaFunctions> functions = FunctionsOf(*library);
  if (!functions.ok()) return functions.status();
  if (Status status = CheckVersion(*functions, library->name()); !status.ok()) return status;
  std::shared_ptr<const Runtime> runtime(new Runtime(*functions, library->name()));
  const Result<int> devices = runtime->DeviceCount();
  if (!devices.ok()) return Status(StatusCode::kFailedPrecondition, devices.status().message());
  if (*devices == 0) return Status(StatusCode::kFailedPrecondition, "the CUDA runtime sees no device");
  return runtime;
}

Result<std::shared_ptr<const Runtime>> Runtime::Loaded() {
  const Result<Library> library = Library::Loaded(kLibraries);
  if (!library.ok()) return Status(StatusCode::kNotFound, "this process has no CUDA runtime");
  return Open(library->name());
}

Status Runtime::Check(const char* what, CudaError error) const {
  if (error == kCudaSuccess) return Status::Ok();
  functions_.get_last_error();  // or the next who asks takes it for an error of his own
  const char* const said = functions_.get_error_string(error);
  return Status(StatusCode::kInternal, std::string(what) + ": " + (said != nullptr ? said : "unknown error") + " (" +
                                           std::to_string(error) + ")");
}

Result<int> Runtime::DeviceCount() const {
  int count = 0;
  if (Status status = Check("cudaGetDeviceCount", functions_.get_device_count(&count)); !status.ok()) return status;
  return count;
}

Result<int> Runtime::CurrentDevice() const {
  int device = 0;
  if (Status status = Check("cudaGetDevice", functions_.get_device(&device)); !status.ok()) return status;
  return device;
}

PointerPlace Runtime::Find(const void* pointer) const {
  CudaPointerAttributes attributes{};
  if (!Check("cudaPointerGetAttributes", functions_.pointer_get_attributes(&attributes, pointer)).ok()) return {};
  const bool on_device = attributes.type == kCudaMemoryDevice || attributes.type == kCudaMemoryManaged;
  return {.on_device = on_device, .device = attributes.device};
}

Status Runtime::Pin(void* memory, std::size_t bytes) const {
  Status status = Check("cudaHostRegister", functions_.host_register(memory, bytes, kCudaHostRegisterPortable));
  if (status.ok()) return status;
  return Status(StatusCode::kResourceExhausted, status.message()).WithFix("raise the limit of locked memory (memlock)");
}

void Runtime::Unpin(void* memory) const { (void)Check("cudaHostUnregister", functions_.host_unregister(memory)); }

void* Runtime::AllocatePinned(std::size_t bytes) const {
  void* memory = nullptr;
  const Status status = Check("cudaHostAlloc", functions_.host_alloc(&memory, bytes, kCudaHostAllocPortable));
  return status.ok() ? memory : nullptr;
}

void Runtime::FreePinned(void* memory) const { (void)Check("cudaFreeHost", functions_.free_host(memory)); }

DeviceScope::DeviceScope(const Runtime& runtime, int device) : runtime_(runtime) {
  const Result<int> before = runtime.CurrentDevice();
  if (!before.ok() || *before == device) return;
  before_ = *before;
  changed_ = runtime.Check("cudaSetDevice", runtime.functions().set_device(device)).ok();
}

DeviceScope::~DeviceScope() {
  if (!changed_) return;
  unsigned flags = 0;
  int active = 1;
  const auto get_state = runtime_.functions().primary_context_get_state;
  if (get_state != nullptr && get_state(before_, &flags, &active) == kCudaSuccess && active == 0) return;
  (void)runtime_.Check("cudaSetDevice", runtime_.functions().set_device(before_));
}

Result<std::unique_ptr<Event>> Event::Create(std::shared_ptr<const Runtime> runtime, int device) {
  const DeviceScope scope(*runtime, device);
  EventHandle handle = nullptr;
  const CudaError error = runtime->functions().event_create_with_flags(&handle, kCudaEventDisableTiming);
  if (Status status = runtime->Check("cudaEventCreateWithFlags", error); !status.ok()) return status;
  return std::unique_ptr<Event>(new Event(std::move(runtime), handle));
}

Result<std::shared_ptr<Event>> Event::Record(std::shared_ptr<const Runtime> runtime, int device, StreamHandle stream) {
  auto made = Create(runtime, device);
  if (!made.ok()) return made.status();
  std::shared_ptr<Event> event = std::move(made.value());
  const DeviceScope scope(*runtime, device);
  if (Status status = event->RecordOn(stream); !status.ok()) return status;
  return event;
}

Event::~Event() { (void)runtime_->Check("cudaEventDestroy", runtime_->functions().event_destroy(handle_)); }

Status Event::RecordOn(StreamHandle stream) {
  return runtime_->Check("cudaEventRecord", runtime_->functions().event_record(handle_, stream));
}

Result<bool> Event::Done() const {
  const CudaError error = runtime_->functions().event_query(handle_);
  const Status status = runtime_->Check("cudaEventQuery", error);
  if (status.ok()) return true;
  if (error == kCudaErrorNotReady) return false;
  return status;
}

Status Event::Wait() const {
  return runtime_->Check("cudaEventSynchronize", runtime_->functions().event_synchronize(handle_));
}

}  // namespace glim::device
