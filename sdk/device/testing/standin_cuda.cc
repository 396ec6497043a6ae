// CUDA's half of the stand-in (standin_cuda.h).
#include "sdk/device/testing/standin_cuda.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "sdk/device/cuda_types.h"
#include "sdk/device/testing/standin_memory.h"

namespace glim::device::standin {
namespace {

constexpr int kSuccess = 0, kInvalidValue = 1;

struct EventState {
  std::uint64_t asked = 0;
  std::uint64_t done = 0;
};

class Stream;

// One lock for all streams: there are few, and tests ask for what all of them do.
struct World {
  static World& Get() {
    static World* const world = new World;  // streams of a test may outlive its main function's statics
    return *world;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::set<Stream*> streams;
  std::int64_t copies_allowed = -1;
  std::uint64_t copies = 0;
  std::uint64_t unpinned_copies = 0;
  int version = 12020;
  int devices = 1;
  int device_0_in_use = 1;
};

// Work is done by the stream's thread, with the world's lock held unless it says otherwise.
class Stream {
 public:
  using Work = std::function<void(std::unique_lock<std::mutex>&, Stream&)>;

  Stream() : thread_([this] { Run(); }) {}

  void Add(Work work) {
    work_.push_back(std::move(work));
    World::Get().changed.notify_all();
  }
  // With the world's lock.
  void Drain(std::unique_lock<std::mutex>& lock) {
    World::Get().changed.wait(lock, [this] { return work_.empty() && !busy_; });
  }
  void Stop() {
    {
      const std::lock_guard lock(World::Get().mutex);
      stop_ = true;
      World::Get().changed.notify_all();
    }
    thread_.join();
  }
  void WaitUntil(std::unique_lock<std::mutex>& lock, const std::function<bool()>& condition) {
    waits_for_ = condition;
    World::Get().changed.notify_all();
    World::Get().changed.wait(lock, waits_for_);
    waits_for_ = nullptr;
  }
  // Calls out of the library: whatever that waits for, the world goes on.
  void CallOut(std::unique_lock<std::mutex>& lock, const std::function<void()>& call) {
    calls_ = true;
    World::Get().changed.notify_all();
    lock.unlock();
    call();
    lock.lock();
    calls_ = false;
  }
  bool settled() const { return calls_ || (waits_for_ && !waits_for_()) || (work_.empty() && !busy_); }

 private:
  void Run() {
    World& world = World::Get();
    std::unique_lock lock(world.mutex);
    for (;;) {
      world.changed.wait(lock, [this] { return stop_ || !work_.empty(); });
      if (work_.empty()) return;
      const Work work = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      work(lock, *this);
      busy_ = false;
      world.changed.notify_all();
    }
  }

  std::deque<Work> work_;
  bool busy_ = false;
  bool calls_ = false;
  std::function<bool()> waits_for_;
  bool stop_ = false;
  std::thread thread_;
};

Stream* Default() {
  static Stream* const stream = [] {
    auto* const made = new Stream;
    World::Get().streams.insert(made);
    return made;
  }();
  return stream;
}

// With the world's lock.
Stream* Of(void* handle) { return handle == nullptr ? Default() : static_cast<Stream*>(handle); }

using EventPtr = std::shared_ptr<EventState>;
EventPtr& EventOf(EventHandle event) { return *static_cast<EventPtr*>(event); }

thread_local int current_device = 0;
thread_local int last_error = 0;

int Said(int error) {
  if (error != kSuccess) last_error = error;
  return error;
}

}  // namespace

}  // namespace glim::device::standin

using namespace glim::device;           // NOLINT: definitions of a C interface
using namespace glim::device::standin;  // NOLINT

extern "C" {

int cudaRuntimeGetVersion(int* version) {
  *version = World::Get().version;
  return kSuccess;
}
int cudaGetDeviceCount(int* count) {
  *count = World::Get().devices;
  return kSuccess;
}
int cudaGetDevice(int* device) {
  *device = current_device;
  return kSuccess;
}
int cudaSetDevice(int device) {
  if (device < 0 || device >= World::Get().devices) return Said(101);
  current_device = device;
  return kSuccess;
}
int cuDevicePrimaryCtxGetState(int device, unsigned*, int* active) {
  *active = device == 0 ? World::Get().device_0_in_use : 1;
  return kSuccess;
}
int cudaGetLastError() {
  const int error = last_error;
  last_error = 0;
  return error;
}
const char* cudaGetErrorString(int error) {
  if (error == kInvalidValue) return "invalid argument";
  return error == kCudaErrorNotReady ? "device not ready" : "an error of the stand-in";
}

int cudaPointerGetAttributes(CudaPointerAttributes* attributes, const void* pointer) {
  const Allocation allocation = Memory::Get().Find(pointer);
  *attributes = {};
  attributes->host_pointer = const_cast<void*>(pointer);
  if (allocation.bytes > 0) {
    attributes->type = kCudaMemoryDevice;
    attributes->device = allocation.device;
    attributes->device_pointer = const_cast<void*>(pointer);
    attributes->host_pointer = nullptr;
  } else if (Memory::Get().Pinned(pointer, 1)) {
    attributes->type = kCudaMemoryHost;
  }
  return kSuccess;
}

int cudaMalloc(void** memory, std::size_t bytes) {
  *memory = Memory::Get().Allocate(bytes, current_device);
  return *memory != nullptr ? kSuccess : Said(2);
}
int cudaFree(void* memory) { return Memory::Get().Free(memory) ? kSuccess : Said(kInvalidValue); }

int cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (Memory::Get().Pinned(memory, 1)) return Said(712);
  Memory::Get().Pin(memory, bytes);
  return kSuccess;
}
int cudaHostUnregister(void* memory) { return Memory::Get().Unpin(memory) ? kSuccess : Said(713); }
int cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  Memory::Get().Pin(*memory, bytes);
  return kSuccess;
}
int cudaFreeHost(void* memory) {
  if (!Memory::Get().Unpin(memory)) return Said(kInvalidValue);
  std::free(memory);
  return kSuccess;
}

int cudaStreamCreateWithFlags(void** stream, unsigned) {
  auto* const made = new Stream;
  const std::lock_guard lock(World::Get().mutex);
  World::Get().streams.insert(made);
  *stream = made;
  return kSuccess;
}
int cudaStreamSynchronize(void* stream) {
  std::unique_lock lock(World::Get().mutex);
  Of(stream)->Drain(lock);
  return kSuccess;
}
int cudaStreamDestroy(void* stream) {
  auto* const destroyed = static_cast<Stream*>(stream);
  {
    std::unique_lock lock(World::Get().mutex);
    if (World::Get().streams.erase(destroyed) == 0) return Said(kInvalidValue);
    destroyed->Drain(lock);
  }
  destroyed->Stop();
  delete destroyed;
  return kSuccess;
}

int cudaEventCreateWithFlags(EventHandle* event, unsigned) {
  *event = new EventPtr(std::make_shared<EventState>());
  return kSuccess;
}
int cudaEventDestroy(EventHandle event) {
  delete static_cast<EventPtr*>(event);
  return kSuccess;
}
int cudaEventRecord(EventHandle event, void* stream) {
  const std::lock_guard lock(World::Get().mutex);
  const EventPtr state = EventOf(event);
  const std::uint64_t number = ++state->asked;
  Of(stream)->Add([state, number](std::unique_lock<std::mutex>&, Stream&) {
    if (state->done < number) state->done = number;
  });
  return kSuccess;
}
int cudaEventQuery(EventHandle event) {
  const std::lock_guard lock(World::Get().mutex);
  const EventPtr& state = EventOf(event);
  return state->done == state->asked ? kSuccess : Said(kCudaErrorNotReady);
}
int cudaEventSynchronize(EventHandle event) {
  std::unique_lock lock(World::Get().mutex);
  const EventPtr state = EventOf(event);
  World::Get().changed.wait(lock, [&] { return state->done == state->asked; });
  return kSuccess;
}
int cudaStreamWaitEvent(void* stream, EventHandle event, unsigned) {
  const std::lock_guard lock(World::Get().mutex);
  const EventPtr state = EventOf(event);
  const std::uint64_t number = state->asked;
  Of(stream)->Add([state, number](std::unique_lock<std::mutex>& held, Stream& self) {
    self.WaitUntil(held, [&] { return state->done >= number; });
  });
  return kSuccess;
}

int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, CudaMemcpyKind kind, void* stream) {
  const bool to_host = kind == kCudaMemcpyDeviceToHost;
  const void* const device = to_host ? from : to;
  const void* const host = to_host ? to : from;
  const Allocation allocation = Memory::Get().Find(device);
  const bool inside = Number(device) + bytes <= allocation.begin + allocation.bytes;
  const bool both = Memory::Get().Find(host).bytes > 0;
  if (!inside || both != (kind == kCudaMemcpyDefault)) return Said(kInvalidValue);
  const std::lock_guard lock(World::Get().mutex);
  Of(stream)->Add([=](std::unique_lock<std::mutex>& held, Stream& self) {
    World& world = World::Get();
    self.WaitUntil(held, [&] { return world.copies_allowed != 0; });
    if (world.copies_allowed > 0) --world.copies_allowed;
    ++world.copies;
    if (!both && !Memory::Get().Pinned(host, bytes)) ++world.unpinned_copies;
    held.unlock();
    std::memcpy(Memory::Get().Reach(to), Memory::Get().Reach(from), bytes);
    held.lock();
  });
  return kSuccess;
}

int cudaMemsetAsync(void* memory, int value, std::size_t bytes, void* stream) {
  const Allocation allocation = Memory::Get().Find(memory);
  if (Number(memory) + bytes > allocation.begin + allocation.bytes) return Said(kInvalidValue);
  const std::lock_guard lock(World::Get().mutex);
  Of(stream)->Add([=](std::unique_lock<std::mutex>& held, Stream&) {
    held.unlock();
    std::memset(Memory::Get().Reach(memory), value, bytes);
    held.lock();
  });
  return kSuccess;
}

int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* argument) {
  const std::lock_guard lock(World::Get().mutex);
  Of(stream)->Add(
      [=](std::unique_lock<std::mutex>& held, Stream& self) { self.CallOut(held, [=] { function(argument); }); });
  return kSuccess;
}

void standin_write(void* device, const void* host, std::size_t bytes) {
  if (bytes > 0) std::memcpy(Memory::Get().Reach(device), host, bytes);
}
void standin_read(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, Memory::Get().Reach(device), bytes);
}

void standin_settle() {
  World& world = World::Get();
  std::unique_lock lock(world.mutex);
  world.changed.wait(lock, [&] {
    for (const Stream* stream : world.streams) {
      if (!stream->settled()) return false;
    }
    return true;
  });
}
void standin_allow_copies(std::int64_t count) {
  World& world = World::Get();
  const std::lock_guard lock(world.mutex);
  world.copies_allowed = count;
  world.changed.notify_all();
}
std::uint64_t standin_copies() {
  const std::lock_guard lock(World::Get().mutex);
  return World::Get().copies;
}
std::uint64_t standin_unpinned_copies() {
  const std::lock_guard lock(World::Get().mutex);
  return World::Get().unpinned_copies;
}
void standin_set_version(int version) { World::Get().version = version; }
void standin_set_devices(int count) { World::Get().devices = count; }
void standin_set_device_0_in_use(int in_use) { World::Get().device_0_in_use = in_use; }

}  // extern "C"
