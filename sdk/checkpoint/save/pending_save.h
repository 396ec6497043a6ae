// What a caller holds of a save that is on its way.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "sdk/checkpoint/save/save_handle.h"

namespace glim::checkpoint {

// Thread-safe.
class PendingSave final : public SaveHandle {
 public:
  bool done() const override {
    const std::lock_guard lock(mutex_);
    return durable_.has_value() || outcome_.has_value();
  }

  Result<SaveReport> Wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return outcome_.has_value(); });
    return *outcome_;
  }

  Result<SaveReport> WaitDurable() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return durable_.has_value() || outcome_.has_value(); });
    return outcome_.has_value() ? *outcome_ : *durable_;
  }

  // At most once, before End.
  void BecomeDurable(SaveReport report) {
    {
      const std::lock_guard lock(mutex_);
      durable_ = std::move(report);
    }
    changed_.notify_all();
  }

  // Once.
  void End(Result<SaveReport> outcome) {
    {
      const std::lock_guard lock(mutex_);
      outcome_ = std::move(outcome);
    }
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<SaveReport> durable_;
  std::optional<Result<SaveReport>> outcome_;
};

}  // namespace glim::checkpoint
