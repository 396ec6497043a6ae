// What a caller holds of a save that is on its way.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "sdk/checkpoint/save/saver.h"

namespace glim::checkpoint {

// Thread-safe.
class PendingSave final : public SaveHandle {
 public:
  bool done() const override {
    const std::lock_guard lock(mutex_);
    return outcome_.has_value();
  }

  Result<SaveReport> Wait() override {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return outcome_.has_value(); });
    return *outcome_;
  }

  // Once.
  void End(Result<SaveReport> outcome) {
    {
      const std::lock_guard lock(mutex_);
      outcome_ = std::move(outcome);
    }
    ended_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<Result<SaveReport>> outcome_;
};

}  // namespace glim::checkpoint
