// glim-sim, which lies beside glim: played twice at the same time over files in a private folder of their own, which is
// removed again. Blocks its caller; a signal ends both.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cli/simulate/past.h"
#include "cli/text/render_json.h"
#include "sdk/base/result.h"

namespace glim::cli {

struct Contender {
  std::string policy_yaml;
  bool own_quotas = false;  // its file names quotas: they count, in place of the cluster's
};

// NOT_FOUND (NO_SIMULATOR): there is no such program beside this one. `wait` waits so long at most, and is
// true when a signal came: then both are ended, and the answer is CANCELLED.
Result<std::array<Json, 2>> PlayBoth(const Past& past, const std::array<Contender, 2>& contenders,
                                     std::uint32_t resamples, std::uint64_t seed,
                                     const std::function<bool(Duration)>& wait);

// Beside the program that runs.
std::string SimulatorPath();

}  // namespace glim::cli
