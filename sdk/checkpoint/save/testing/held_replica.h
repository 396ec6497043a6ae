// A ReplicaSink for tests that keeps its books and can hold a save back.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sdk/checkpoint/format/crc32c.h"
#include "sdk/checkpoint/save/replica_sink.h"

namespace glim::checkpoint::testing {

// Thread-safe.
class HeldReplica final : public ReplicaSink {
 public:
  void Register(std::span<const std::byte> memory) override { Note("register", memory.size()); }
  void Forget() override { Note("forget", 0); }

  void Start(CheckpointId id, std::span<const std::byte> image, std::string part_json) override {
    const std::lock_guard lock(mutex_);
    crc32c_ = Crc32c(image);
    part_json_ = std::move(part_json);
    events_.push_back("start " + std::to_string(id.step));
  }

  Result<ReplicaReport> Wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_; });
    events_.push_back("wait");
    if (!fails_with_.ok()) return fails_with_;
    return ReplicaReport{.peer = "test", .bytes = 1, .micros = 1};
  }

  // From now on Wait waits.
  void Hold() { SetHeld(true); }
  void LetGo() { SetHeld(false); }
  void FailWith(Status status) {
    const std::lock_guard lock(mutex_);
    fails_with_ = std::move(status);
  }

  std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::uint32_t crc32c() const {
    const std::lock_guard lock(mutex_);
    return crc32c_;
  }
  std::string part_json() const {
    const std::lock_guard lock(mutex_);
    return part_json_;
  }
  // Of the last Register.
  std::size_t registered_bytes() const {
    const std::lock_guard lock(mutex_);
    return registered_bytes_;
  }

 private:
  void Note(const std::string& event, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
    registered_bytes_ = bytes;
  }
  void SetHeld(bool held) {
    {
      const std::lock_guard lock(mutex_);
      held_ = held;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  Status fails_with_;
  std::uint32_t crc32c_ = 0;
  std::string part_json_;
  std::size_t registered_bytes_ = 0;
  std::vector<std::string> events_;
};

}  // namespace glim::checkpoint::testing
