// How far the copy of the tensors has come: the trainer's thread fills the image while the background writes it
// already.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace glim::checkpoint {

// Thread-safe.
class CopyProgress {
 public:
  struct Times {
    std::int64_t stall_micros = 0;
    std::int64_t copy_micros = 0;
  };

  // The first `bytes` of the image are there to stay.
  void Advance(std::uint64_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      bytes_ = std::max(bytes_, bytes);
    }
    changed_.notify_all();
  }
  // All of it. Once.
  void Finish(Times times) {
    {
      const std::lock_guard lock(mutex_);
      times_ = times;
      finished_ = true;
    }
    changed_.notify_all();
  }

  void WaitFor(std::uint64_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_ || bytes_ >= bytes; });
  }
  Times WaitForAll() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return finished_; });
    return times_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t bytes_ = 0;
  bool finished_ = false;
  Times times_;
};

}  // namespace glim::checkpoint
