// A kernel that is at work until a test lets it go on, and then writes. Test code alone.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "sdk/device/testing/test_cuda.h"

namespace glim::device::testing {

// Opens when it ends, and waits for the stream: what is before it there must be open then.
class GatedKernel {
 public:
  // Fills `bytes` at `memory` (on the device) with `value`, once Open is called.
  GatedKernel(StreamHandle stream, void* memory, int value, std::size_t bytes) : stream_(stream) {
    TestCuda::Get().Launch(
        stream, [](void* self) { static_cast<GatedKernel*>(self)->Run(); }, this);
    TestCuda::Get().Fill(stream, memory, value, bytes);
  }
  ~GatedKernel() {
    Open();
    TestCuda::Get().Synchronize(stream_);
  }
  GatedKernel(const GatedKernel&) = delete;
  GatedKernel& operator=(const GatedKernel&) = delete;

  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Whether it has gone through the gate; it has written when its stream says so.
  bool done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
    done_ = true;
  }

  StreamHandle stream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  bool done_ = false;
};

}  // namespace glim::device::testing
