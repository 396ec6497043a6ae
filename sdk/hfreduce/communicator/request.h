// What a caller of the communicator asked for, on its way to the part that does it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "sdk/base/status.h"
#include "sdk/hfreduce/node/device_stage.h"
#include "sdk/hfreduce/signature/signature.h"

namespace glim::hfreduce {

// Of one or more requests that a handle stands for. Any thread.
class Completion {
 public:
  explicit Completion(int requests) : left_(requests) {}

  // Of one request. The first error holds.
  void Finish(const Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (status_.ok()) status_ = status;
    }
    left_.fetch_sub(1, std::memory_order_release);
  }
  bool done() const { return left_.load(std::memory_order_acquire) <= 0; }
  Status status() const {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  mutable std::mutex mutex_;
  Status status_;
  std::atomic<int> left_;
};

// The buffers are the caller's, until the completion is done; those of a barrier are its own.
struct Request {
  Signature signature;
  const std::byte* in = nullptr;
  std::byte* out = nullptr;
  OnDevice on_device = {};
  bool one_result = false;
  std::span<const std::byte>* result = nullptr;  // where to say where the one result lies
  std::shared_ptr<std::int32_t> barrier = nullptr;
  std::shared_ptr<Completion> completion = nullptr;
};

}  // namespace glim::hfreduce
