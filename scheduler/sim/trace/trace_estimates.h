// Whether the estimates hold: what `glim why` would say to jobs that begin to wait, beside when they really started.
//
// Not everybody is asked about: every k-th wait, and k doubles (and every other sample is dropped) whenever
// kEstimatesKept would be exceeded, so that the samples are spread over the whole run however long it is.
// Single-threaded; the same calls give the same figures.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "scheduler/core/advice/estimate.h"

namespace glim::sim {

inline constexpr std::size_t kEstimatesKept = 500;

struct AskedEstimate {
  core::Estimate estimate;
  TimePoint started;  // 0: not yet
};

class EstimateSampler {
 public:
  // A wait of this row of the trace begins. True: it is to be asked about, and the answer handed to Asked.
  bool Begins(std::size_t row);
  void Asked(std::size_t row, core::Estimate estimate);
  // Ends the row's wait, if it was asked about.
  void Started(std::size_t row, TimePoint at);

  // What is kept, in the order in which it was asked.
  std::vector<AskedEstimate> Take();

 private:
  void Thin();

  std::uint64_t waits_ = 0;
  std::uint64_t every_ = 1;
  std::map<std::uint64_t, AskedEstimate> kept_;  // by the number of the wait: a multiple of every_
  std::map<std::size_t, std::uint64_t> open_;    // by row: its wait
};

}  // namespace glim::sim
