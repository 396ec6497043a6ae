// What glim-validate is asked to do. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nodeagent/validate/reading.h"
#include "sdk/base/result.h"

namespace glim::validate {

struct Options {
  bool full = false;
  std::vector<std::string> parts;    // by name; empty: all
  std::vector<std::string> folders;  // of the disk part
  std::int64_t memory_bytes = 0;     // that the patterns may take; 0: 256 MiB, with `full` half of what is free
  // Where ranks of several nodes meet that no job of Glim has started; empty: as the environment says.
  std::string rendezvous;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  bool alone = false;  // measures itself, also in a job of several nodes
  // Of the GPU part.
  double gpu_seconds = 1;      // of each multiplication; not with `full`
  std::string cuda_library{};  // empty: the driver's, as the loader finds it
  std::string nvml_library{};  // the same
  std::string sys_root{};      // stands for "/"
};

// A part's readings, or why it could not be measured.
using Readings = Result<std::vector<Reading>>;

}  // namespace glim::validate
