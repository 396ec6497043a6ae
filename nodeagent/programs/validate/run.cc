#include "nodeagent/programs/validate/run.h"

#include <algorithm>

#include "nodeagent/programs/validate/allreduce_part.h"
#include "nodeagent/programs/validate/cpu_part.h"
#include "nodeagent/programs/validate/disk_part.h"
#include "nodeagent/programs/validate/gpu_part.h"
#include "nodeagent/programs/validate/memory_part.h"
#include "nodeagent/programs/validate/network_part.h"
#include "nodeagent/programs/validate/numa_part.h"
#include "nodeagent/validate/judge.h"
#include "sdk/device/driver.h"

namespace glim::validate {
namespace {

constexpr int kTimesMax = 3;

struct Part {
  const char* name;
  Readings (*measure)(const Options&);  // null: the network's, whose ranks have to agree on measuring again
};

// The The GPUs come late: the allreduce forks, which a process that has loaded their driver must not do.
constexpr Part kParts[] = {{"cpu", MeasureCpu},   {"memory", MeasureMemory},       {"numa", MeasureNuma},
                           {"disk", MeasureDisk}, {"allreduce", MeasureAllreduce}, {"gpu", MeasureGpu},
                           {"network", nullptr}};

bool SomeSlow(const std::vector<Reading>& readings, const Baseline& baseline) {
  const std::vector<Verdict> verdicts = Judge(readings, baseline);
  return std::any_of(verdicts.begin(), verdicts.end(), SlowOnly);
}

Readings Measured(const Part& part, const Options& options, const Baseline& baseline) {
  if (part.measure == nullptr) {
    return MeasureNetwork(options, [&](const std::vector<Reading>& all) { return SomeSlow(all, baseline); });
  }
  Readings readings = part.measure(options);
  for (int time = 1; time < kTimesMax && readings.ok() && SomeSlow(*readings, baseline); ++time) {
    const Readings again = part.measure(options);
    if (!again.ok()) return again;
    readings = BetterOf(*readings, *again);
  }
  return readings;
}

}  // namespace

std::vector<std::string> PartNames() {
  std::vector<std::string> names;
  for (const Part& part : kParts) names.emplace_back(part.name);
  return names;
}

bool IsLeftOut(const Options& options, const Status& status) {
  return options.parts.empty() && status.reason() == device::kNoGpu;
}

Status RunParts(const Options& options, const Baseline& baseline,
                const std::function<void(const std::vector<Verdict>&)>& tell) {
  for (const Part& part : kParts) {
    const auto& asked = options.parts;
    if (!asked.empty() && std::find(asked.begin(), asked.end(), part.name) == asked.end()) continue;
    const Readings readings = Measured(part, options, baseline);
    if (!readings.ok() && IsLeftOut(options, readings.status())) continue;
    if (!readings.ok()) {
      return Status(readings.status().code(), std::string(part.name) + ": " + readings.status().message())
          .WithFix(readings.status().fix());
    }
    tell(Judge(*readings, baseline));
  }
  return Status::Ok();
}

}  // namespace glim::validate
