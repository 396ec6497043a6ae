#include "scheduler/sim/world/workload.h"

#include <algorithm>
#include <array>

namespace glim::sim {

JobScript MakeScript(Rng& rng, std::uint32_t nodes_max) {
  using core::PriorityClass;
  constexpr std::array kClasses = {PriorityClass::kLow,         PriorityClass::kNormal, PriorityClass::kNormal,
                                   PriorityClass::kAboveNormal, PriorityClass::kHigh,   PriorityClass::kVeryHigh,
                                   PriorityClass::kExtremeHigh, PriorityClass::kAuto};
  JobScript script;
  core::JobSpec& spec = script.spec;
  spec.name = "sim";
  spec.workdir = "/";
  spec.run = "simulated";
  spec.priority = kClasses[static_cast<std::size_t>(rng.Between(0, kClasses.size() - 1))];
  // Small jobs are common, and now and then one wants nearly everything.
  const std::int64_t most = rng.OneIn(6) ? nodes_max : std::max<std::int64_t>(1, nodes_max / 3);
  spec.nodes = static_cast<std::uint32_t>(rng.Between(1, most));
  if (rng.OneIn(3)) {
    spec.launcher = core::Launcher::kPerGpu;
    spec.gpus_per_node = static_cast<std::uint32_t>(rng.Between(1, 4));
  }
  spec.interrupt_mode = rng.OneIn(8) ? core::InterruptMode::kSignal : core::InterruptMode::kCooperative;
  if (rng.OneIn(10)) spec.placement.cross_zone = core::CrossZone::kNever;
  spec.grace = Seconds(rng.Between(5, 60));
  spec.max_grace = spec.grace * 3;
  script.step_time = Milliseconds(rng.Between(200, 4000));
  script.steps = rng.Between(1, 60);
  // Of the others a third leaves it to Glim to find out, and half of these know nothing of Glim. Told by what is drawn
  // anyway, so that the seeds' worlds stay what they were.
  if (spec.interrupt_mode == core::InterruptMode::kCooperative && script.step_time.ms % 3 == 0) {
    spec.interrupt_mode = core::InterruptMode::kAuto;
    script.plain = script.steps % 2 == 0;
  }
  script.save_time = Milliseconds(rng.Between(50, 6000));
  script.save_every = rng.OneIn(2) ? rng.Between(3, 20) : 0;
  const std::int64_t manners = rng.Between(0, 9);
  script.manners = manners == 0   ? Manners::kNever
                   : manners == 1 ? Manners::kLate
                   : manners == 2 ? Manners::kTwice
                                  : Manners::kPrompt;
  if (rng.OneIn(20)) script.fails_at_step = rng.Between(0, script.steps);
  script.ignores_term = rng.OneIn(6);
  if (rng.OneIn(10)) script.start_fails_one_in = 3;
  script.own_folder = rng.OneIn(2);
  if (rng.OneIn(4)) spec.if_unreachable = core::IfUnreachable::kWait;
  if (rng.OneIn(6)) spec.time_limit = Seconds(rng.Between(2, 150));
  return script;
}

}  // namespace glim::sim
