// Stores that go back: an operator puts a backup back, as back-up-and-restore.md says. What has begun since then the
// store does not know: its tasks run on as orphans, jobs that were submitted since are forgotten, and what ended since
// is taken for live. What was told to users before the backup holds.
#include <memory>
#include <utility>

#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::AttemptId;
using core::TaskId;

namespace {

// Truths hold references and cannot be assigned.
template <typename T>
void Replace(T& now, const T& earlier) {
  std::destroy_at(&now);
  std::construct_at(&now, earlier);
}

}  // namespace

struct World::Backup {
  store::MemoryData data;
  core::Tables tables;
  Truth truth;
  NoticeTruth notices;
  WorkTruth work;
  HealthTruth health;
  ProcessTruth processes;
};

void World::BeginBackups() {
  if (!options_.faults || !backup_rng_.OneIn(3)) return;
  timeline_.After(Seconds(backup_rng_.Between(20, 600)), [this] { BackUp(); });
}

void World::BackUp() {
  if (healing_) return;
  if (down_) {
    timeline_.After(Seconds(1), [this] { BackUp(); });
    return;
  }
  backup_ = std::make_shared<const Backup>(
      Backup{*store_data_, state_->tables(), truth_, notices_, work_, health_, processes_});
  timeline_.After(Milliseconds(backup_rng_.Between(1000, 400'000)), [this] { PutBack(); });
}

// A backup from before a node was removed or enrolled is not used: the operator would have to enrol that node again.
void World::PutBack() {
  if (healing_ || down_ || !backup_) {
    if (!healing_) BackUp();
    return;
  }
  const std::shared_ptr<const Backup> backup = std::exchange(backup_, nullptr);
  ++report_.stores_put_back;
  const std::uint64_t epoch = store_data_->epoch;
  *store_data_ = backup->data;
  store_data_->epoch = epoch;  // the next leader's is beyond all that agents have seen
  Replace(truth_, backup->truth);
  Replace(notices_, backup->notices);
  Replace(work_, backup->work);
  Replace(health_, backup->health);
  const ProcessTruth before = processes_;
  Replace(processes_, backup->processes);
  processes_.AddWrittenOff(before);
  ++life_;
  CrashScheduler(backup->tables);
  FindOrphans();
}

void World::FindOrphans() {
  std::set<AttemptId> there;
  for (const auto& [node, agent] : agents_) {
    for (const TaskId task : agent->Recorded()) {
      const core::Attempt* row = state_->FindAttempt(task.attempt);
      if (!row || row->state == core::AttemptState::kClaimed) orphan_runs_.try_emplace(task.attempt);
    }
    for (const TaskId task : agent->Running()) {
      const core::Attempt* row = state_->FindAttempt(task.attempt);
      const bool was_sent =
          row && row->state != core::AttemptState::kClaimed && row->state != core::AttemptState::kEnded;
      if (was_sent && task.index < row->nodes.size() && row->nodes[task.index] == node) {
        there.insert(task.attempt);
        continue;
      }
      ++report_.orphans;
      unheard_.insert(node);
      processes_.IsOrphan(node, task.attempt);
      notices_.LeaveOut(task.attempt.job);  // who begins before that is heard makes way, untold
      orphan_runs_.try_emplace(task.attempt);
    }
  }
  for (auto run = runs_.begin(); run != runs_.end();) {
    const AttemptId id = run->first;
    const core::Attempt* row = state_->FindAttempt(id);
    if (!row || row->state == core::AttemptState::kClaimed) {
      orphan_runs_[id] = std::move(run->second);
      run = runs_.erase(run);
      continue;
    }
    if (!there.contains(id)) over_.insert(id);
    notices_.LeaveOut(id.job);
    ++run;
  }
  for (const auto& [id, run] : orphan_runs_) {
    if (state_->FindAttempt(id)) MixesUp(id);
  }
  const auto forgotten = scripts_.lower_bound(state_->next_job_id);
  orphan_scripts_.insert(forgotten, scripts_.end());
  scripts_.erase(forgotten, scripts_.end());  // their numbers are given again
  std::erase_if(task_users_, [this](const auto& entry) { return !state_->FindAttempt(entry.first); });
}

// After a restore the operator ends orphans, and users cancel jobs that hang: a gang that was being started when the
// backup was made may have one task started twice, and the others wait for the first one.
void World::EndForgotten() {
  for (const auto& [node, agent] : agents_) agent->KillOrphans();
  for (const auto& [id, run] : runs_) {
    const core::Attempt* row = state_->FindAttempt(id);
    const bool stands = timeline_.now() - run->last_sign() > Minutes(10);
    if (row && row->state == core::AttemptState::kRunning && stands) {
      Post(core::CancelJob{id.job, state_->FindJob(id.job)->user});
    }
  }
}

// A job may start under the number of an orphan whose node has not reported yet, even on that node: decision 0053.
void World::SeeOrphansNumber(const core::Mutation& mutation) {
  const auto* row = std::get_if<std::shared_ptr<const core::Attempt>>(&mutation);
  if (row && orphan_runs_.contains((*row)->id)) MixesUp((*row)->id);
}

void World::MixesUp(AttemptId id) {
  mixed_up_.insert(id);
  notices_.LeaveOut(id.job);
  truth_.LeaveOut(id);
  work_.LeaveOut(id);
}

const JobScript& World::ScriptOf(AttemptId attempt, std::uint32_t life) {
  const auto forgotten = orphan_scripts_.find(attempt.job);
  return life == life_ || forgotten == orphan_scripts_.end() ? ScriptOf(attempt.job) : forgotten->second;
}

// Where the attempt's ranks of that life of the store are, or are to be.
std::shared_ptr<SimRun>& World::PlaceOf(AttemptId attempt, std::uint32_t life) {
  if (life != life_ && orphan_runs_.contains(attempt)) return orphan_runs_[attempt];
  return runs_[attempt];
}

}  // namespace glim::sim
