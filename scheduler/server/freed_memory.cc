#include "scheduler/server/freed_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace glim::server {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(2);
// Less is not worth the walk: this much, and a sixteenth of what there is.
constexpr std::uint64_t kGrowthLeast = 4 << 20;
constexpr std::uint64_t kGrowthShare = 16;
constexpr int kArenasMax = 4;  // glibc's own bound is eight a core
// What is larger goes back as it is freed; glibc's own bound grows with the largest block that was freed.
constexpr int kApartBytes = 64 << 10;

std::uint64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void BoundAllocator() {
  (void)::mallopt(M_ARENA_MAX, kArenasMax);
  (void)::mallopt(M_MMAP_THRESHOLD, kApartBytes);
}

bool ShouldGiveBack(std::uint64_t resident_then, std::uint64_t resident_now, std::uint64_t free_now) {
  const std::uint64_t much = std::max(kGrowthLeast, resident_now / kGrowthShare);
  return free_now >= much && resident_now >= resident_then + much;
}

FreedMemory::FreedMemory(boost::asio::io_context* io) : timer_(*io) { LookLater(); }

void FreedMemory::LookLater() {
  timer_.expires_after(kLookEvery);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const std::uint64_t resident = ResidentBytes();
    if (ShouldGiveBack(resident_then_, resident, ::mallinfo2().fordblks)) {
      (void)::malloc_trim(0);
      resident_then_ = ResidentBytes();
    }
    resident_then_ = std::min(resident_then_, resident);
    LookLater();
  });
}

}  // namespace glim::server
