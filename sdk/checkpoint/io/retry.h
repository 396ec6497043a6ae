// What interrupted or hurried requests are given: another try, a bounded number of times.
#pragma once

#include <cerrno>
#include <chrono>
#include <thread>

namespace glim::checkpoint {

// Of one request. Counts since it last moved on.
class Retries {
 public:
  // Whether `error` passes by itself. Sleeps a little when it takes time (EAGAIN): 0.1 s in all.
  bool MayRetry(int error) {
    if (error != EINTR && error != EAGAIN) return false;
    if (++count_ > kMax) return false;
    if (error == EAGAIN) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return true;
  }

 private:
  static constexpr int kMax = 100;
  int count_ = 0;
};

}  // namespace glim::checkpoint
