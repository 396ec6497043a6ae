// A store for ranks that are threads of one process: for tests and simulations.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "sdk/hfreduce/rendezvous/store.h"

namespace glim::hfreduce {

class MemoryStore final : public Store {
 public:
  Status Set(const std::string& key, const std::string& value) override {
    const std::lock_guard lock(mutex_);
    const auto [it, added] = values_.emplace(key, value);
    if (!added && it->second != value) {
      return {StatusCode::kAlreadyExists, "key '" + key + "' has another value already"};
    }
    written_.notify_all();
    return Status::Ok();
  }

  Result<std::string> Get(const std::string& key, Duration timeout) override {
    std::unique_lock lock(mutex_);
    const auto there = [&] { return values_.count(key) != 0; };
    if (!written_.wait_for(lock, std::chrono::milliseconds(timeout.ms), there)) {
      return Status(StatusCode::kDeadlineExceeded,
                    "nobody wrote key '" + key + "' within " + std::to_string(timeout.ms) + " ms");
    }
    return values_.at(key);
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    values_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable written_;
  std::map<std::string, std::string> values_;
};

}  // namespace glim::hfreduce
