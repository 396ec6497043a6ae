// How long something took, by the steady clock and by what the calling thread had of its CPU.
#pragma once

#include <ctime>

namespace glim::validate {

inline double SecondsOf(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// A value; starts when it is made.
class Stopwatch {
 public:
  double Seconds() const { return SecondsOf(CLOCK_MONOTONIC) - began_; }
  // Of the thread that made it.
  double CpuSeconds() const { return SecondsOf(CLOCK_THREAD_CPUTIME_ID) - cpu_began_; }

 private:
  double began_ = SecondsOf(CLOCK_MONOTONIC);
  double cpu_began_ = SecondsOf(CLOCK_THREAD_CPUTIME_ID);
};

}  // namespace glim::validate
