// Jobs that are not to start before a moment, and what users change of jobs after their submission.
#include <algorithm>

#include "scheduler/sim/world/aspect.h"
#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::JobId;

bool World::HasFirstStarts() const { return sim::HasFirstStarts(options_.seed); }

void World::MaybeDelay(core::JobSpec& spec) {
  if (HasFirstStarts() && first_rng_.OneIn(5)) spec.start_after = SchedulerNow() + Seconds(first_rng_.Between(1, 900));
}

// Users change what they have submitted, whatever has become of it.
void World::UserUpdates() {
  core::UpdateJob update;
  const auto newest = static_cast<std::int64_t>(state_->next_job_id.value);
  update.job = JobId(static_cast<std::uint64_t>(first_rng_.Between(std::max<std::int64_t>(1, newest - 8), newest)));
  const core::Job* job = state_->FindJob(update.job);
  update.user = job ? job->user : "u1";
  update.unbound = first_rng_.OneIn(3);
  update.by_right = update.unbound;
  if (first_rng_.OneIn(2)) update.time_limit = Seconds(first_rng_.OneIn(4) ? 0 : first_rng_.Between(1, 1200));
  if (first_rng_.OneIn(2)) update.start_after = SchedulerNow() + Seconds(first_rng_.Between(-60, 300));
  if (first_rng_.OneIn(3)) update.name = "again";
  Post(std::move(update));
  if (report_.events < options_.events) timeline_.After(Seconds(first_rng_.Between(5, 90)), [this] { UserUpdates(); });
}

}  // namespace glim::sim
