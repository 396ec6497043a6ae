// Verdicts and baselines as JSON: what glim-validate prints, and reads again.
#pragma once

#include <string>
#include <vector>

#include "nodeagent/validate/reading.h"
#include "sdk/base/result.h"

namespace glim::validate {

// One object in one line: part, what, device, value, unit, expected, ratio (both null where there is none), ok, text.
std::string JsonLineOf(const Verdict& verdict);

// The readings of a node from such lines; lines of anything else are left out. Of those that are not ok for a wrong
// answer, and not for their value, the reading is wrong.
std::vector<Reading> ReadingsFrom(const std::string& lines);

// {"version": 1, "expected": [{"part", "what", "value", "unit", "nodes"}]}, a line for each.
std::string BaselineText(const Baseline& baseline);
// INVALID_ARGUMENT: it is no such document.
Result<Baseline> ParseBaseline(const std::string& text);

// "{expected: {cpu.piece: 41.6664, disk.write: 882}}": a row of `health.validate.baselines` of a scheduler's policy.
// What is told and not judged is left out.
std::string PolicyRowText(const Baseline& baseline);

// "cpu.piece=41.6664" each, as the scheduler writes what its policy says. INVALID_ARGUMENT names the first that is not.
Result<Baseline> ParseExpected(const std::vector<std::string>& words);

}  // namespace glim::validate
