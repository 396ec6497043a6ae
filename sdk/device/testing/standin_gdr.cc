// GDRCopy's half of the stand-in (standin_cuda.h): mappings are of the memory behind the device's addresses.
#include <cstring>
#include <map>
#include <mutex>

#include "sdk/device/testing/standin_cuda.h"
#include "sdk/device/testing/standin_memory.h"

namespace glim::device {

// As gdr_copy.h has it, whose functions are called through pointers of this very type.
struct GdrHandle {
  unsigned long h = 0;
};

}  // namespace glim::device

namespace glim::device::standin {
namespace {

struct Pin {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  bool given_back = false;
};

struct Gdr {
  static Gdr& Get() {
    static Gdr* const gdr = new Gdr;
    return *gdr;
  }
  std::mutex mutex;
  std::map<unsigned long, Pin> pins;
  unsigned long next = 1;
  int persistent = 0;
  std::uint64_t copies = 0;
};

}  // namespace

void MemoryIsGivenBack(const Allocation& allocation) {
  Gdr& gdr = Gdr::Get();
  const std::lock_guard lock(gdr.mutex);
  for (auto& entry : gdr.pins) {
    Pin& pin = entry.second;
    if (pin.begin < allocation.begin + allocation.bytes && allocation.begin < pin.begin + pin.bytes) {
      pin.given_back = true;
    }
  }
}

}  // namespace glim::device::standin

using namespace glim::device;           // NOLINT: definitions of a C interface
using namespace glim::device::standin;  // NOLINT

extern "C" {

void* gdr_open() { return &Gdr::Get(); }
int gdr_close(void*) { return 0; }

int gdr_pin_buffer(void*, unsigned long address, std::size_t bytes, std::uint64_t, std::uint32_t, GdrHandle* handle) {
  const Allocation allocation = Memory::Get().Find(reinterpret_cast<void*>(address));
  if (address % kDevicePage != 0 || address + bytes > allocation.begin + allocation.bytes) return 22;
  Gdr& gdr = Gdr::Get();
  const std::lock_guard lock(gdr.mutex);
  handle->h = gdr.next++;
  gdr.pins[handle->h] = {.begin = address, .bytes = bytes};
  return 0;
}
int gdr_unpin_buffer(void*, GdrHandle handle) {
  Gdr& gdr = Gdr::Get();
  const std::lock_guard lock(gdr.mutex);
  return gdr.pins.erase(handle.h) == 1 ? 0 : 22;
}
int gdr_get_callback_flag(void*, GdrHandle handle, int* flag) {
  Gdr& gdr = Gdr::Get();
  const std::lock_guard lock(gdr.mutex);
  const auto pin = gdr.pins.find(handle.h);
  if (pin == gdr.pins.end()) return 22;
  *flag = pin->second.given_back ? 1 : 0;
  return 0;
}
int gdr_map(void*, GdrHandle handle, void** mapped, std::size_t) {
  Gdr& gdr = Gdr::Get();
  const std::lock_guard lock(gdr.mutex);
  *mapped = Memory::Get().Reach(reinterpret_cast<void*>(gdr.pins[handle.h].begin));
  return 0;
}
int gdr_unmap(void*, GdrHandle, void*, std::size_t) { return 0; }

int gdr_copy_to_mapping(GdrHandle, void* mapped, const void* host, std::size_t bytes) {
  const std::lock_guard lock(Gdr::Get().mutex);
  ++Gdr::Get().copies;
  std::memcpy(mapped, host, bytes);
  return 0;
}
int gdr_copy_from_mapping(GdrHandle, void* host, const void* mapped, std::size_t bytes) {
  const std::lock_guard lock(Gdr::Get().mutex);
  ++Gdr::Get().copies;
  std::memcpy(host, mapped, bytes);
  return 0;
}
int gdr_get_attribute(void*, int, int* value) {
  *value = Gdr::Get().persistent;
  return 0;
}

std::uint64_t standin_gdr_copies() {
  const std::lock_guard lock(Gdr::Get().mutex);
  return Gdr::Get().copies;
}
std::uint64_t standin_gdr_mappings() {
  const std::lock_guard lock(Gdr::Get().mutex);
  return Gdr::Get().pins.size();
}
void standin_set_persistent_mappings(int persistent) { Gdr::Get().persistent = persistent; }

}  // extern "C"
