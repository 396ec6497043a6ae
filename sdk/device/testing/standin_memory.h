// The stand-in's device memory: addresses that nobody can use, and where what they stand for lies. Test code alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace glim::device::standin {

inline constexpr std::size_t kDevicePage = 1 << 16;

inline std::uintptr_t Number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::byte* memory = nullptr;
  int device = 0;
};

// Any thread.
class Memory {
 public:
  static Memory& Get();

  void* Allocate(std::size_t bytes, int device);
  bool Free(void* address);
  // No bytes: not on the device.
  Allocation Find(const void* address);
  // The address itself if it is the host's.
  void* Reach(const void* address);

  void Pin(void* address, std::size_t bytes);
  bool Unpin(void* address);
  bool Pinned(const void* address, std::size_t bytes);

 private:
  std::mutex mutex_;
  std::map<std::uintptr_t, Allocation> allocations_;
  std::map<std::uintptr_t, std::size_t> pinned_;
  std::multimap<std::size_t, std::uintptr_t> unused_;  // addresses that were given back, by size: the next one's
};

// GDRCopy's mappings of this memory are told.
void MemoryIsGivenBack(const Allocation& allocation);

}  // namespace glim::device::standin
