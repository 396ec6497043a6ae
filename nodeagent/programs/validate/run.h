// Measures the parts that are asked for and judges them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// The names of all parts, in the order in which they are measured.
std::vector<std::string> PartNames();

// Hands the verdicts of each part to `tell` when it was measured. A part in which something is too slow is measured up
// to three times: the better value counts. The first part that cannot be measured ends it, with the part's name.
Status RunParts(const Options& options, const Baseline& baseline,
                const std::function<void(const std::vector<Verdict>&)>& tell);

}  // namespace glim::validate
