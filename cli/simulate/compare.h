// Two policies side by side: what glim-sim says of each, and the range of each figure over drawn days. Pure.
//
// The range of a figure holds the middle nine tenths of the runs over drawn days; the change's is of the differences,
// run by run, for both policies met the same days in it.
#pragma once

#include <string>
#include <vector>

#include "cli/text/render_json.h"
#include "sdk/base/result.h"

namespace glim::cli {

struct Ranged {
  double value = 0, low = 0, high = 0;
};

enum class FigureUnit : std::uint8_t { kSeconds, kCount, kHours, kShare };

struct Compared {
  std::string name;  // "wait p99, high"
  std::string key;   // "classes.high.wait_p99_s"
  FigureUnit unit = FigureUnit::kCount;
  Ranged present, other, change;
};

// The two documents of glim-sim --json with --cluster. INTERNAL: they are not what it writes.
Result<std::vector<Compared>> Compare(const Json& present, const Json& other);

std::string ComparedTable(const std::vector<Compared>& figures, bool with_ranges, bool colour);
Json ComparedJson(const std::vector<Compared>& figures, bool with_ranges);

}  // namespace glim::cli
