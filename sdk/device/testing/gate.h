// A kernel of the stand-in that is at work until a test lets it go on, and then writes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "sdk/device/testing/standin_cuda.h"

namespace glim::device::testing {

// Must outlive the stream's work. Opens when it ends.
class GatedKernel {
 public:
  // Fills `bytes` at `memory` (on the device) with `value`, once Open is called.
  GatedKernel(void* stream, void* memory, int value, std::size_t bytes)
      : memory_(standin_reach(memory)), value_(value), bytes_(bytes) {
    cudaLaunchHostFunc(
        stream, [](void* self) { static_cast<GatedKernel*>(self)->Run(); }, this);
  }
  ~GatedKernel() {
    Open();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }
  GatedKernel(const GatedKernel&) = delete;
  GatedKernel& operator=(const GatedKernel&) = delete;

  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    std::memset(memory_, value_, bytes_);
    done_ = true;
    changed_.notify_all();
  }

  void* memory_;
  int value_;
  std::size_t bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool done_ = false;
};

}  // namespace glim::device::testing
