// What the tasks of an attempt that stands still have said of what they do, as its row keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "scheduler/core/model/cluster_state.h"
#include "sdk/base/time.h"

namespace glim::core {

inline constexpr Duration kEvidenceWait = Seconds(60);       // for all tasks' answers
inline constexpr std::size_t kEvidenceBytesMax = 16 * 1024;  // of an attempt's row

// At most kEvidenceBytesMax, never empty: first a few lines of each task, then stacks. Whose ranks are the farthest
// behind in steps comes first: the others mostly wait for them. `answers`: by task, lines, an empty line, stacks, as
// nodeagent/task/evidence.h writes them.
std::string EvidenceInWords(const ClusterState& state, const Attempt& attempt,
                            const std::map<std::uint32_t, std::string>& answers);

}  // namespace glim::core
