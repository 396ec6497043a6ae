// What a run of the bench is asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sdk/base/status.h"
#include "sdk/hfreduce/kernels/reduce_op.h"
#include "sdk/hfreduce/tree/topology.h"

namespace glim::hfreduce::bench {

// A value.
struct Setup {
  std::uint32_t nodes = 1;
  std::uint32_t local = 1;
  std::uint32_t zones = 1;
  std::string transport = "auto";
  std::string congestion;
  std::size_t bytes = 1 << 20;
  DType type = DType::kF32;
  ReduceOp op = ReduceOp::kSum;
  std::uint32_t iterations = 20;
  std::uint32_t warmup = 5;
  std::string memory = "private";
  std::string cuda_runtime;  // for memory "device": the library's path; empty: as the loader finds it
  std::string result = "copied";
  bool netns = false;
  std::uint32_t zone_mbit = 0;
  std::optional<std::size_t> latency_path_bytes_max = {};  // none: the communicator's own

  Topology topology() const;
  // INVALID_ARGUMENT: options that exclude each other.
  Status Check() const;
};

}  // namespace glim::hfreduce::bench
