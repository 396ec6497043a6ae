// Gives freed memory back to the system. glibc keeps what a thread has freed for that thread's next request, so that
// large calls would cost memory long after they were answered: three times what is in use, after a user's flood of
// jobs.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>

namespace glim::server {

// Few arenas, and large blocks apart from them. Of the whole process; before it has threads.
void BoundAllocator();

// In bytes. Whether it is worth a walk over what is free: more memory is idle (resident and not in use) by so much than
// the last walk left in pieces too small for it.
bool ShouldGiveBack(std::uint64_t idle_then, std::uint64_t idle_now, std::uint64_t resident_now);

// Looks every two seconds on the thread of `io`, which it does not own. While it gives back (some ms for each GiB),
// other threads wait that want memory of the same arena.
class FreedMemory {
 public:
  explicit FreedMemory(boost::asio::io_context* io);

 private:
  void LookLater();

  boost::asio::steady_timer timer_;
  std::uint64_t idle_then_ = 0;
  bool once_more_ = false;
};

}  // namespace glim::server
