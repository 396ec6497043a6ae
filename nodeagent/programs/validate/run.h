// Measures the parts that are asked for and judges them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nodeagent/programs/validate/options.h"

namespace glim::validate {

// The names of all parts, in the order in which they are measured.
std::vector<std::string> PartNames();

// Whether a part that could not be measured is no error: a node without GPUs lacks nothing, unless somebody says that
// it has some by naming the part.
bool IsLeftOut(const Options& options, const Status& status);

// Hands the verdicts of each part to `tell` when it was measured. A part in which something is too slow is measured up
// to three times: the better value counts. The first part that cannot be measured ends it, with the part's name.
Status RunParts(const Options& options, const Baseline& baseline,
                const std::function<void(const std::vector<Verdict>&)>& tell);

}  // namespace glim::validate
