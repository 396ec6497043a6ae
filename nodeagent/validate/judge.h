// From readings to verdicts, and from the readings of a fleet to what is expected of a node. Pure.
#pragma once

#include <string>
#include <vector>

#include "nodeagent/validate/reading.h"

namespace glim::validate {

// Against the baseline where it has the part and what; else, where the rule says so, against the node's own readings
// of that kind if there are several; else a reading fails only if it is wrong. Readings without a rule are left out.
std::vector<Verdict> Judge(const std::vector<Reading>& readings, const Baseline& baseline);

bool AllOk(const std::vector<Verdict>& verdicts);

// `again` was measured after `first`, because something in `first` was slow: of each device the better value counts, so
// that what disturbs for a moment fails nobody. A wrong answer stays wrong, whichever of the two gave it.
std::vector<Reading> BetterOf(const std::vector<Reading>& first, const std::vector<Reading>& again);

// Fails by its value alone: measuring again may help.
bool SlowOnly(const Verdict& verdict);

// Of each node the typical reading of a kind, and of these the fleet's. Wrong readings are left out.
Baseline Merge(const std::vector<std::vector<Reading>>& nodes);

// The median; of an even number the better of the two in the middle, so that one of two that is slow does not hide
// itself. Not of an empty list (CHECK).
double Typical(std::vector<double> values, bool more_is_better);

// "41.20", "1234": two digits behind the point below 100.
std::string Shown(double value);

}  // namespace glim::validate
