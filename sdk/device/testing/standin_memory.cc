#include "sdk/device/testing/standin_memory.h"

#include <sys/mman.h>

#include <cstdlib>

namespace glim::device::standin {
Memory& Memory::Get() {
  static Memory* const memory = new Memory;
  return *memory;
}

void* Memory::Allocate(std::size_t bytes, int device) {
  const std::size_t room = (bytes + kDevicePage) / kDevicePage * kDevicePage;
  const std::lock_guard lock(mutex_);
  std::uintptr_t begin = 0;
  if (const auto again = unused_.find(room); again != unused_.end()) {
    begin = again->second;
    unused_.erase(again);
  } else {
    // Addresses at a page of a device's; the rest of the reservation is of no use to anybody.
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const reserved = ::mmap(nullptr, room + kDevicePage, PROT_NONE, kFlags, -1, 0);
    if (reserved == MAP_FAILED) return nullptr;
    begin = (Number(reserved) + kDevicePage - 1) / kDevicePage * kDevicePage;
  }
  auto* const memory = static_cast<std::byte*>(std::calloc(room, 1));
  allocations_[begin] = {.begin = begin, .bytes = room, .memory = memory, .device = device};
  return reinterpret_cast<void*>(begin);
}

bool Memory::Free(void* address) {
  Allocation freed;
  {
    const std::lock_guard lock(mutex_);
    const auto it = allocations_.find(Number(address));
    if (it == allocations_.end()) return false;
    freed = it->second;
    allocations_.erase(it);
    unused_.emplace(freed.bytes, freed.begin);
  }
  MemoryIsGivenBack(freed);
  std::free(freed.memory);
  return true;
}

Allocation Memory::Find(const void* address) {
  const std::lock_guard lock(mutex_);
  auto it = allocations_.upper_bound(Number(address));
  if (it == allocations_.begin()) return {};
  --it;
  return Number(address) < it->first + it->second.bytes ? it->second : Allocation{};
}

void* Memory::Reach(const void* address) {
  const Allocation allocation = Find(address);
  if (allocation.bytes == 0) return const_cast<void*>(address);
  return allocation.memory + (Number(address) - allocation.begin);
}

void Memory::Pin(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  pinned_[Number(address)] = bytes;
}

bool Memory::Unpin(void* address) {
  const std::lock_guard lock(mutex_);
  return pinned_.erase(Number(address)) == 1;
}

bool Memory::Pinned(const void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto it = pinned_.upper_bound(Number(address));
  if (it == pinned_.begin()) return false;
  --it;
  return Number(address) + bytes <= it->first + it->second;
}

}  // namespace glim::device::standin
