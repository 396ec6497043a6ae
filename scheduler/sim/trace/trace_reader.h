// Reads a trace: jobs that once ran somewhere, one a line of a CSV file, in any order of columns.
//
//   job_id, submit_s, duration_s, nodes   must be there; `nodes` may be left empty where `gpus` is given (8 a node)
//   user, gpus, walltime_s, state         may be; others are not read
//
// Whatever a file holds is checked: a refusal names the line and the column. Nothing is kept between calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/base/time.h"

namespace glim::sim {

struct TraceJob {
  std::string name;   // a word; made from the line's number where job_id is none
  std::string user;   // "trace" where the trace names none
  Duration submit;    // since the trace's beginning
  Duration duration;  // of its work at full speed, on its nodes; at least 1 s
  std::uint32_t nodes = 1;
  std::uint32_t gpus_per_node = 8;  // that it used of each; 8 where `gpus` says nothing
  Duration walltime;                // the limit that its user gave; 0: none
};

// By submission; those of one moment in the file's order.
Result<std::vector<TraceJob>> ParseTrace(std::string_view text);
Result<std::vector<TraceJob>> ReadTrace(const std::string& path);

}  // namespace glim::sim
