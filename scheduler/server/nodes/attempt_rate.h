// AttemptRate: how often something that strangers may try is tried: by each, and by all together. A stranger who tries
// too often takes nothing of what the others may.
//
// Any thread. Memory: a row for each who has tried within the last seconds, bounded by the rate of all.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "sdk/base/time.h"

namespace glim::server {

class AttemptRate {
 public:
  struct Bounds {
    std::int64_t each_burst = 10;    // at once; one more a second
    std::int64_t all_burst = 1'000;  // of all together
    std::int64_t all_per_second = 200;
  };
  AttemptRate() : AttemptRate(Bounds()) {}
  explicit AttemptRate(Bounds bounds) : bounds_(bounds) {}

  // False: not now. `now` never goes back.
  bool Take(const std::string& who, TimePoint now);
  std::size_t rows() const;  // for tests

 private:
  // What is left, in thousandths of an attempt.
  struct Bucket {
    std::int64_t left_milli = 0;
    TimePoint at;
  };
  static void Fill(Bucket* bucket, std::int64_t burst, std::int64_t per_second, TimePoint now);
  void Forget(TimePoint now);

  const Bounds bounds_;
  mutable std::mutex mutex_;  // guards what follows
  std::map<std::string, Bucket> each_;
  Bucket all_;
  std::size_t forget_at_ = 4'096;
};

}  // namespace glim::server
