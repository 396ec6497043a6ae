// What a hostile user does to a path that a job names: swaps a folder and a link to another folder for each other.
#pragma once

#include <fcntl.h>
#include <stdio.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>

namespace glim::nodeagent {

// In one step of the kernel's; true when it did.
inline bool ExchangeNames(const std::string& one, const std::string& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

// All the time while it lives, in a thread of its own. Both names are there, and lie in one file system.
class PathSwapper {
 public:
  PathSwapper(std::string one, std::string other)
      : one_(std::move(one)), other_(std::move(other)), thread_([this] {
          while (!stop_) swaps_ += ExchangeNames(one_, other_) ? 1 : 0;
        }) {}
  ~PathSwapper() {
    stop_ = true;
    thread_.join();
  }
  PathSwapper(const PathSwapper&) = delete;
  PathSwapper& operator=(const PathSwapper&) = delete;

  int swaps() const { return swaps_; }

 private:
  const std::string one_, other_;
  std::atomic<bool> stop_{false};
  std::atomic<int> swaps_{0};
  std::thread thread_;
};

}  // namespace glim::nodeagent
