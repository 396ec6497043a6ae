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
constexpr std::uint64_t kIdleLeast = 4 << 20;
constexpr std::uint64_t kIdleShare = 16;
constexpr int kArenasMax = 4;  // glibc's own bound is eight a core
// What is larger goes back as it is freed; glibc's own bound grows with the largest block that was freed.
constexpr int kApartBytes = 64 << 10;

struct Memory {
  std::uint64_t resident = 0;
  std::uint64_t idle = 0;
};

Memory Held() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0, resident = 0, of_files = 0;
  file >> all >> resident >> of_files;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto heap = ::mallinfo2();
  const std::uint64_t used = of_files * page + heap.uordblks + heap.hblkhd;
  resident *= page;
  return {resident, resident - std::min(resident, used)};
}

}  // namespace

void BoundAllocator() {
  (void)::mallopt(M_ARENA_MAX, kArenasMax);
  (void)::mallopt(M_MMAP_THRESHOLD, kApartBytes);
}

bool ShouldGiveBack(std::uint64_t idle_then, std::uint64_t idle_now, std::uint64_t resident_now) {
  return idle_now >= idle_then + std::max(kIdleLeast, resident_now / kIdleShare);
}

FreedMemory::FreedMemory(boost::asio::io_context* io) : timer_(*io) { LookLater(); }

void FreedMemory::LookLater() {
  timer_.expires_after(kLookEvery);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const Memory held = Held();
    idle_then_ = std::min(idle_then_, held.idle);
    const bool much = ShouldGiveBack(idle_then_, held.idle, held.resident);
    if (much || once_more_) {
      (void)::malloc_trim(0);
      idle_then_ = Held().idle;
      once_more_ = much;  // what was freed during the walk looks like what it left
    }
    LookLater();
  });
}

}  // namespace glim::server
