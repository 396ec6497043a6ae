#include "scheduler/core/lifecycle/attempt_progress.h"

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/core/lifecycle/at_risk.h"
#include "scheduler/core/lifecycle/restored_step.h"
#include "scheduler/core/lifecycle/save_place.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

struct Gathered {
  std::set<std::uint32_t> shards;
  std::uint32_t shards_needed = 1;
  Checkpoint save;
  Duration took;
  bool every_node_sees_one = false;  // of its shards
  std::set<NodeId> nodes;
};

// Ranks may say anything: of more than 2^50 bytes nobody needs to know how many.
std::int64_t SumOf(std::int64_t some, std::int64_t more) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  return std::min(kMost, some + std::clamp<std::int64_t>(more, 0, kMost));
}

std::map<std::int64_t, Gathered> GatherSaves(const std::vector<const Task*>& tasks) {
  std::map<std::int64_t, Gathered> by_step;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      for (const SavedShard& shard : rank.saves) {
        Gathered& g = by_step[shard.step];
        if (g.shards.insert(shard.shard).second) g.save.bytes = SumOf(g.save.bytes, shard.bytes);
        g.shards_needed = std::max(g.shards_needed, shard.shards);
        g.save.step = shard.step;
        if (shard.shard == 0) g.save.path = shard.path;
        g.took = std::max(g.took, shard.took);
        if (shard.shard == 0) g.save.local = shard.local;
        g.every_node_sees_one |= shard.local.empty();
        g.nodes.insert(task->node);
      }
    }
  }
  return by_step;
}

}  // namespace

std::optional<Checkpoint> NewestDurable(const std::vector<const Task*>& tasks) {
  const auto by_step = GatherSaves(tasks);
  for (auto it = by_step.rbegin(); it != by_step.rend(); ++it) {
    if (it->second.shards.size() + (Planted(PlantedBug::kShardMissing) ? 1 : 0) < it->second.shards_needed) continue;
    Checkpoint save = it->second.save;
    if (it->second.every_node_sees_one) save.local.clear();
    if (!save.local.empty()) save.parts.assign(it->second.nodes.begin(), it->second.nodes.end());
    return save;
  }
  return std::nullopt;
}

namespace {

// How long the ranks say that they took to go on from their save: not longer than the scheduler has seen them at it,
// and only until the attempt has done something. 0: they have said nothing, or it is over.
Duration RestoreToldBy(const std::vector<const Task*>& tasks, const Attempt& attempt, TimePoint now) {
  if (attempt.last_step >= 0 || attempt.durable_step >= 0) return {};
  Duration told;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) told = std::max(told, rank.restore_time);
  }
  return std::min(told, now - attempt.started_at);
}

// A save of this attempt. What it did not go on from (restored_step.h) is no save that the job could come back to.
void TakeSave(Job& job, Checkpoint save) {
  const auto is_behind = [&](const Checkpoint& other) { return other.step >= save.step; };
  if (is_behind(job.durable)) job.durable = {};
  std::erase_if(job.older, is_behind);
  NoteSave(job, std::move(save));
}

constexpr std::size_t kStepsSeenMax = 32;  // saves that are not complete; the oldest will not be any more

void AddShards(ShardsSeen& seen, const Task& task, std::int64_t durable_step) {
  for (const Rank& rank : task.ranks) {
    for (const SavedShard& shard : rank.saves) {
      if (shard.step <= durable_step) continue;
      ShardsSeen::OfStep& of_step = seen.by_step[shard.step];
      of_step.shards.insert(shard.shard);
      of_step.needed = std::max(of_step.needed, shard.shards);
    }
  }
  while (seen.by_step.size() > kStepsSeenMax) seen.by_step.erase(seen.by_step.begin());
}

void DropUpTo(std::int64_t durable_step, ShardsSeen& seen) {
  seen.by_step.erase(seen.by_step.begin(), seen.by_step.upper_bound(durable_step));
}

bool MayBeDurable(Changes& changes, AttemptId id) {
  const std::int64_t durable_step = changes.attempt(id).durable_step;
  auto [it, fresh] = changes.shards_seen().try_emplace(id);
  ShardsSeen& seen = it->second;
  if (fresh) {  // this leader's first look at the attempt
    for (const Task* task : TasksOf(changes.state(), id)) AddShards(seen, *task, durable_step);
  }
  DropUpTo(durable_step, seen);
  return std::any_of(seen.by_step.begin(), seen.by_step.end(),
                     [](const auto& step) { return step.second.shards.size() >= step.second.needed; });
}

}  // namespace

void NoteShards(Changes& changes, const Task& task) {
  const auto seen = changes.shards_seen().find(task.id.attempt);
  if (seen == changes.shards_seen().end()) return;  // the first look takes all in
  AddShards(seen->second, task, changes.attempt(task.id.attempt).durable_step);
}

void ForgetShards(Changes& changes, AttemptId id) {
  changes.shards_seen().erase(id);
  std::vector<TaskId> told;
  for (const Task* task : TasksOf(changes.state(), id)) {
    const auto has_saves = [](const Rank& rank) { return !rank.saves.empty(); };
    if (std::any_of(task->ranks.begin(), task->ranks.end(), has_saves)) told.push_back(task->id);
  }
  for (const TaskId& task : told) {
    changes.EditTask(task, [](Task& row) {
      for (Rank& rank : row.ranks) rank.saves.clear();
    });
  }
}

void SeeSteps(Changes& changes, const Task& task) {
  std::int64_t last_step = -1;
  for (const Rank& rank : task.ranks) last_step = std::max(last_step, rank.step);
  const AttemptId id = task.id.attempt;
  if (last_step <= changes.attempt(id).last_step) return;
  const bool first = changes.attempt(id).last_step < 0;
  changes.EditAttempt(id, [&](Attempt& attempt) { attempt.last_step = last_step; });
  if (first) SeeRestored(changes, id, TasksOf(changes.state(), id));
  if (last_step <= changes.attempt(id).base.step || changes.job(id.job).restore_failures == 0) return;
  changes.EditJob(id.job, [](Job& job) { job.restore_failures = 0; });
}

void AdvanceProgress(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks) {
  const bool may_be_durable = MayBeDurable(changes, id);
  SeeProgress(changes, id, tasks, may_be_durable);
  if (may_be_durable) DropUpTo(changes.attempt(id).durable_step, changes.shards_seen()[id]);
}

void SeeProgress(Changes& changes, AttemptId id, const std::vector<const Task*>& tasks, bool may_be_durable) {
  std::int64_t last_step = -1;
  bool greeted = false;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      greeted |= rank.greeted;
      last_step = std::max(last_step, rank.step);
    }
  }
  const std::optional<Checkpoint> durable = may_be_durable ? NewestDurable(tasks) : std::nullopt;
  const bool newer = durable && durable->step > changes.attempt(id).durable_step;
  const Attempt& before = changes.attempt(id);
  const Duration restore = RestoreToldBy(tasks, before, changes.now());
  const Agreement* agreement = before.open_agreement();
  // Before a step is agreed a save is a periodic one; after, only a save that contains it answers the interrupt.
  const bool answers = newer && agreement && agreement->state != AgreementState::kNotifying && !agreement->saved_at &&
                       durable->step >= agreement->stop_step;
  if (newer || last_step > before.last_step) {
    changes.EditAttempt(id, [&](Attempt& attempt) {
      attempt.last_step = std::max(attempt.last_step, last_step);
      if (!newer) return;
      if (attempt.durable_at) attempt.save_interval = changes.now() - attempt.durable_at;
      attempt.durable_step = durable->step;
      attempt.durable_at = changes.now();
      if (answers) attempt.open_agreement()->saved_at = changes.now();
    });
  }
  if (answers) {
    const Agreement& open = *changes.attempt(id).open_agreement();
    changes.Note(HistoryKind::kInterruptSaved, id, {}, "",
                 {.step = durable->step, .took = open.saved_at - open.requested_at});
  }
  SeeRestored(changes, id, tasks);
  const bool moved_on = newer || last_step > changes.attempt(id).base.step;
  if (newer) ClearAtRisk(changes, changes.attempt(id));
  const Attempt& after = changes.attempt(id);
  changes.EditJob(id.job, [&](Job& job) {
    if (restore.ms > 0) job.restore_cost = restore;
    job.cooperative |= greeted;
    if (newer) job.restarts_since_save = 0;
    if (moved_on) job.restore_failures = 0;
    if (newer && durable->step > after.base.step) {
      Checkpoint save = *durable;
      save.attempt = id.number;
      save.at = changes.now();
      TakeSave(job, std::move(save));
    }
    if (answers) {
      ++job.saves_done;
      const Agreement& open = *after.open_agreement();
      const Duration took = changes.now() - (open.agreed_at ? open.agreed_at : open.requested_at);
      job.save_cost = {job.save_cost.ms + (took.ms - job.save_cost.ms) / static_cast<std::int64_t>(job.saves_done)};
    }
  });
}

}  // namespace glim::core
