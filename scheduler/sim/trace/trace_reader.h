// Reads a trace: jobs that once ran somewhere, one a line of a CSV file, in any order of columns.
//
//   job_id, submit_s, duration_s, nodes   must be there; `nodes` may be left empty where `gpus` is given (8 a node)
//   user, gpus, walltime_s, state         may be; others are not read
//   team, pool, class, gpus_per_node      of a cluster's own history, which is played on its own nodes
//   counted                               0: it is there as load, and in no figure
//
// Whatever a file holds is checked: a refusal names the line and the column. Nothing is kept between calls.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/spec.h"
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
  std::string team;
  std::string pool = "default";
  core::PriorityClass priority = core::PriorityClass::kNormal;
  std::uint32_t gpus_asked = 0;  // of each node, where its own nodes are known
  bool counted = true;
  friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

// A node of a cluster, one a line: name, pool, zone, leaf, gpus. All columns must be there, and names are words.
struct TraceNode {
  std::string name, pool, zone, leaf;
  std::uint32_t gpus = 8;
};
Result<std::vector<TraceNode>> ParseNodes(std::string_view text);
Result<std::vector<TraceNode>> ReadNodes(const std::string& path);

// Quotas and weights that hold in place of a policy file's, one a line: of, subject, pool, class, nodes. `of` is
// team_weight (the subject's; `nodes` is the weight), or whose quota it is: user, team, team_user, default_user,
// everybody. A file without a line but the first says that there are none.
Result<std::vector<core::AccountChange>> ParseQuotas(std::string_view text);
Result<std::vector<core::AccountChange>> ReadQuotas(const std::string& path);

// By submission; those of one moment in the file's order.
Result<std::vector<TraceJob>> ParseTrace(std::string_view text);
Result<std::vector<TraceJob>> ReadTrace(const std::string& path);

}  // namespace glim::sim
