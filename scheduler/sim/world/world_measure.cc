// Machines that the scheduler measures by itself: some are bad, at some the program cannot even run, and an operator
// gives back what it took out.
#include <utility>

#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::JobId;

void World::DrawMeasuring() {
  if (options_.crowd > 0) return;
  core::ValidatePolicy& validate = policy_.health.validate;
  validate.on_join = measure_rng_.OneIn(3);
  validate.after_repair = !measure_rng_.OneIn(4);
  if (measure_rng_.OneIn(3)) validate.every = Minutes(measure_rng_.Between(2, 30));
  if (measure_rng_.OneIn(3)) timeline_.After(Seconds(measure_rng_.Between(5, 120)), [this] { AskToMeasure(); });
}

// Nodes in use, free, out or gone alike, until the users have gone home.
void World::AskToMeasure() {
  if (report_.events >= options_.events) return;
  const auto last = static_cast<std::int64_t>(agents_.size());
  core::ValidateNode ask;
  ask.name = hellos_.at(core::NodeId(static_cast<std::uint32_t>(measure_rng_.Between(1, last)))).name;
  ask.by = "op";
  ask.full = measure_rng_.OneIn(2);
  Post(std::move(ask));
  timeline_.After(Seconds(measure_rng_.Between(20, 400)), [this] { AskToMeasure(); });
}

// Of a job that no user has submitted: it measures its node. By its number alone, whoever asks first.
const JobScript& World::ScriptOf(JobId job) {
  if (const auto known = scripts_.find(job); known != scripts_.end()) return known->second;
  Rng rng(Rng(RngOf(options_.seed, Aspect::kMeasuring).Next() ^ job.value).Next());
  JobScript script;
  script.spec.gpus_per_node = 0;
  if (const core::Job* measures = state_->FindJob(job)) script.spec.nodes = measures->spec->nodes;  // with a partner: 2
  script.plain = true;
  script.steps = rng.Between(2, 60);
  script.step_time = Seconds(1);
  const bool is_bad = rng.OneIn(6);
  if ((is_bad || rng.OneIn(8)) && !healing_) script.fails_at_step = rng.Between(0, script.steps - 2);
  if (is_bad) script.fail_code = 3;
  return scripts_.emplace(job, std::move(script)).first->second;
}

void World::SeeMeasured(const core::HistoryEntry& entry) {
  if (entry.kind != core::HistoryKind::kNodeValidated) return;
  const bool is_bad = entry.text.starts_with("bad: ");
  ++(is_bad ? report_.found_bad : report_.found_good);
  const core::Node* node = state_->FindNode(entry.node);
  if (!is_bad || !node) return;
  timeline_.After(Seconds(measure_rng_.Between(5, 240)), [this, name = node->name] {
    Post(core::UncordonNode{name, "op"});
  });
}

}  // namespace glim::sim
