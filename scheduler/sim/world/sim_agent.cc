#include "scheduler/sim/world/sim_agent.h"

#include <algorithm>

#include "scheduler/core/model/save_reach.h"
#include "scheduler/sim/world/health_truth.h"

namespace glim::sim {

using core::TaskPhase;

namespace {

constexpr std::size_t kFoundTold = 64;

}  // namespace

void SimAgent::SetSession(std::uint64_t session) {
  session_ = session;
  report_lands_ = {};
  if (session) ReportSoon();
}

void SimAgent::LoseContact() {
  for (auto& [id, task] : tasks_) {
    if (task.run && task.phase == TaskPhase::kRunning) task.run->LoseContact(id.index);
  }
}

void SimAgent::Reboot() {
  for (auto& [id, task] : tasks_) {
    if (task.phase == TaskPhase::kReleased) continue;
    if (task.run) task.run->Killed(id.index);
    task.phase = TaskPhase::kReleased;
    task.lost = true;
  }
  ++boots_;
  found_seq_ = 0;
  found_.clear();
  conditions_.clear();
}

void SimAgent::Find(core::HealthReading found) {
  found.seq = ++found_seq_;
  found.text = "found " + MarkOf(node_, std::to_string(boots_), found.seq);
  found_.push_back(std::move(found));
  if (found_.size() > kFoundTold) found_.erase(found_.begin());
  ReportSoon();
}

void SimAgent::SetCondition(const core::HealthCondition& condition, bool is_so) {
  std::erase_if(conditions_, [&](const core::HealthCondition& one) {
    return one.check == condition.check && one.device == condition.device;
  });
  if (is_so) conditions_.push_back(condition);
  ReportSoon();
}

bool SimAgent::LoseSupervisor() {
  for (auto& [id, task] : tasks_) {
    if (task.phase != TaskPhase::kRunning) continue;
    task.phase = TaskPhase::kExited;
    task.lost = true;
    ReportSoon();
    return true;
  }
  return false;
}

std::vector<core::TaskId> SimAgent::Running() const {
  std::vector<core::TaskId> running;
  for (const auto& [id, task] : tasks_) {
    if (task.phase != TaskPhase::kReleased) running.push_back(id);
  }
  return running;
}

std::vector<core::TaskId> SimAgent::Recorded() const {
  std::vector<core::TaskId> all;
  for (const auto& [id, task] : tasks_) all.push_back(id);
  return all;
}

bool SimAgent::TakeIn(std::uint64_t epoch, std::uint64_t revision, const std::vector<SentTask>& desired) {
  if (std::pair(epoch, revision) < newest_) return false;
  newest_ = {epoch, revision};
  for (auto& [id, task] : tasks_) task.listed = false;
  for (const SentTask& wanted : desired) {
    if (const auto known = tasks_.find(wanted.id); known != tasks_.end()) known->second.listed = true;
  }
  const bool has_orphans = std::any_of(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return !entry.second.listed && entry.second.phase != TaskPhase::kReleased;
  });
  for (const SentTask& wanted : desired) {
    const auto known = tasks_.find(wanted.id);
    if (known == tasks_.end()) {
      if (wanted.launch && !has_orphans) {
        Launch(wanted);
      } else {
        SimTask& unknown = tasks_[wanted.id];
        unknown.phase = TaskPhase::kReleased;
        unknown.lost = true;
        ReportSoon();
      }
      continue;
    }
    SimTask& task = known->second;
    if (task.phase == TaskPhase::kReleased) continue;
    if (wanted.interrupt) world_.told(wanted.id, wanted.agreement.id);
    if (wanted.interrupt && task.run) task.run->Interrupted(wanted.id.index, wanted.agreement);
    if (!wanted.interrupt && task.agreement && task.run) {
      task.agreement->state = core::AgreementState::kWithdrawn;
      task.run->Interrupted(wanted.id.index, *task.agreement);
    }
    task.agreement = wanted.interrupt ? std::optional(wanted.agreement) : std::nullopt;
    if (wanted.stop && !task.stopping) Stop(wanted.id);
  }
  // Unlisted and gone: forgotten. Unlisted and alive: left alone.
  std::erase_if(tasks_, [&](const auto& entry) {
    const bool listed =
        std::any_of(desired.begin(), desired.end(), [&](const SentTask& w) { return w.id == entry.first; });
    return !listed && entry.second.phase == TaskPhase::kReleased;
  });
  return true;
}

void SimAgent::Launch(const SentTask& wanted) {
  for (const auto& [id, task] : tasks_) {
    if (task.phase != TaskPhase::kReleased) world_.violation("two attempts on one node: " + ToString(id.attempt));
  }
  world_.launched(node_, wanted);
  const JobScript& script = world_.script(wanted.id.attempt.job);
  SimTask& task = tasks_[wanted.id];
  task.life = wanted.life;
  highest_job_ = std::max(highest_job_, wanted.id.attempt.job);
  if (StartFails(script, task)) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = true;
    ReportSoon();
    return;
  }
  if (wanted.interrupt) task.agreement = wanted.agreement;
  if (wanted.interrupt) world_.told(wanted.id, wanted.agreement.id);
  ReportSoon();
  const core::JobId job = wanted.id.attempt.job;
  if (core::IsShared(wanted.base) || wanted.in_memory || HasSave(job, wanted.base.local)) {
    Begin(wanted.id, wanted.base.step);
  } else {
    Copy(wanted, static_cast<int>(world_.rng.Between(1, 4)));
  }
}

bool SimAgent::StartFails(const JobScript& script, SimTask& task) {
  task.job_fault = script.start_fault == StartFault::kOwn;
  task.path_missing = script.start_fault == StartFault::kPathNowhere ||
                      (script.start_fault == StartFault::kPathOfSomeNodes && trouble_.lacks_path);
  const bool names_path = script.start_fault == StartFault::kPathOfSomeNodes;
  task.path_hangs = names_path && trouble_.path_hangs && !task.path_missing;
  world_.met.hung_paths += task.path_hangs;
  world_.met.own_faults += task.job_fault;
  world_.met.missing_paths += task.path_missing;
  world_.met.full_disk_starts += trouble_.disk_full;
  const bool chance = script.start_fails_one_in > 0 && world_.rng.OneIn(script.start_fails_one_in);
  return chance || task.job_fault || task.path_missing || task.path_hangs || trouble_.disk_full;
}

bool SimAgent::CanSave() {
  world_.met.full_disk_saves += trouble_.disk_full;
  return !trouble_.disk_full;
}

bool SimAgent::HasSave(core::JobId job, const std::string& local) const {
  const auto save = disk_.find({job, local});
  return save != disk_.end() && save->second;
}

// What it was told last lies in its state folder, where a full disk took nothing.
void SimAgent::Restart() {
  if (trouble_.disk_full) newest_ = {0, 0};
}

// Piece by piece; whoever has it may go away in between.
void SimAgent::Copy(const SentTask& wanted, int pieces_left) {
  world_.timeline.After(Milliseconds(world_.rng.Between(5, 5000)), [this, wanted, pieces_left] {
    const auto it = tasks_.find(wanted.id);
    if (it == tasks_.end() || it->second.phase != TaskPhase::kStarting || it->second.stopping) return;
    SimTask& task = it->second;
    ReportSoon();
    if (!world_.fetch(node_, wanted.id.attempt.job, wanted.base)) {
      task.phase = TaskPhase::kReleased;
      task.start_failed = task.save_missing = true;
      return;
    }
    if (trouble_.disk_full) {
      ++world_.met.full_disk_starts;
      task.phase = TaskPhase::kReleased;
      task.start_failed = true;
      return;
    }
    task.copied_bytes += wanted.base.bytes / 4;
    if (pieces_left > 1) return Copy(wanted, pieces_left - 1);
    disk_[{wanted.id.attempt.job, wanted.base.local}] = true;
    Begin(wanted.id, wanted.base.step);
  });
}

void SimAgent::Begin(core::TaskId id, std::int64_t base_step) {
  SimTask& task = tasks_[id];
  task.run = world_.join(id, base_step, task.life);
  world_.met.hung_starts += trouble_.hangs;
  world_.met.slow_starts += trouble_.slow.ms > 0;
  const Duration takes = Milliseconds(world_.rng.Between(5, 3000)) + trouble_.slow;
  if (!trouble_.hangs) world_.timeline.After(takes, [this, id] { SeeRunning(id); });
  if (task.agreement) task.run->Interrupted(id.index, *task.agreement);
  ReportSoon();
}

void SimAgent::KillOrphans() {
  for (const core::TaskId id : Running()) {
    if (!tasks_.at(id).listed) Kill(id);
  }
}

void SimAgent::SeeRunning(core::TaskId id) {
  const auto it = tasks_.find(id);
  if (it == tasks_.end() || it->second.phase != TaskPhase::kStarting) return;
  it->second.phase = TaskPhase::kRunning;
  it->second.run->TaskRunning(id.index);
  ReportSoon();
}

void SimAgent::Stop(core::TaskId id) {
  tasks_[id].stopping = true;
  const bool obeys = !world_.script(id.attempt.job).ignores_term;
  const Duration wait = obeys ? Milliseconds(world_.rng.Between(1, 400)) : world_.kill_after_term;
  world_.timeline.After(wait, [this, id] { Kill(id); });
}

void SimAgent::Kill(core::TaskId id) {
  const auto it = tasks_.find(id);
  if (it == tasks_.end() || it->second.phase == TaskPhase::kReleased) return;
  if (trouble_.keeps) {
    ++world_.met.kept_tasks;
    world_.timeline.After(Seconds(5), [this, id] { Kill(id); });
    return;
  }
  if (it->second.run) it->second.run->Killed(id.index);
  Release(id);
}

void SimAgent::Release(core::TaskId id) {
  SimTask& task = tasks_[id];
  if (task.leaving_node || task.phase == TaskPhase::kReleased) return;
  task.leaving_node = true;
  task.phase = TaskPhase::kExited;
  world_.timeline.After(Milliseconds(world_.rng.Between(1, 800)), [this, id] {
    const auto it = tasks_.find(id);
    if (it == tasks_.end() || it->second.phase == TaskPhase::kReleased) return;
    it->second.phase = TaskPhase::kReleased;
    ReportSoon();
  });
  ReportSoon();
}

void SimAgent::Heartbeat() {
  SendReport();
  world_.timeline.After(Seconds(5), [this] { Heartbeat(); });
}

void SimAgent::ReportSoon() {
  if (report_due_) return;
  report_due_ = true;
  world_.timeline.After(Milliseconds(1), [this] { SendReport(); });
}

void SimAgent::SendReport() {
  report_due_ = false;
  core::NodeReported report{node_, session_, false, {}};
  report.health_boot = std::to_string(boots_);
  report.health_events = found_;
  report.health_conditions = conditions_;
  report.probes = world_.reached(node_);
  std::vector<core::TaskId> gone;
  for (auto& [id, task] : tasks_) {
    core::ObservedTask seen;
    seen.id = id;
    seen.receipt = true;  // it runs what it was launched, whatever a scheduler's store has lost since
    seen.phase = task.phase;
    seen.lost = task.lost;
    seen.start_failed = task.start_failed;
    seen.job_fault = task.job_fault;
    seen.path_missing = task.path_missing;
    if (task.path_hangs) seen.hung_path = "/data";
    seen.save_missing = task.save_missing;
    seen.copied_bytes = task.copied_bytes;
    if (task.run) {
      seen.activity_at = task.run->last_sign();
      seen.gpu_busy_at = task.run->last_busy();
      seen.ranks = task.run->RanksOf(id.index);
      for (const core::Rank& rank : seen.ranks) {
        for (const core::SavedShard& save : rank.saves) {
          const bool all = save.shards == 1 || world_.script(id.attempt.job).spec.nodes == 1;
          if (!save.local.empty()) disk_[{id.attempt.job, save.local}] |= all;
        }
      }
      seen.exit_code = task.run->ExitCode(id.index);
      if (task.run->Exited(id.index)) gone.push_back(id);
    }
    report.tasks.push_back(std::move(seen));
  }
  for (const core::AttemptId claim : claims_) {
    if (tasks_.contains({claim, 0})) continue;
    core::ObservedTask& made_up = report.tasks.emplace_back();  // it cannot make up a receipt
    made_up.id = {claim, 0};
    made_up.phase = TaskPhase::kRunning;
  }
  if (session_) {
    report_lands_ = std::max(report_lands_, world_.timeline.now() + Milliseconds(world_.rng.Between(0, 40)));
    world_.timeline.At(report_lands_, [this, report = std::move(report), epoch = newest_.first] {
      if (report.session == session_) world_.report(report, epoch);
    });
  }
  for (const core::TaskId id : gone) Release(id);
}

}  // namespace glim::sim
