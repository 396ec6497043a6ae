#include "scheduler/sim/sim_agent.h"

#include <algorithm>

namespace glim::sim {

using core::TaskPhase;

void SimAgent::SetSession(std::uint64_t session) {
  session_ = session;
  report_lands_ = {};
  if (session) ReportSoon();
}

void SimAgent::Reboot() {
  for (auto& [id, task] : tasks_) {
    if (task.phase == TaskPhase::kReleased) continue;
    if (task.run) task.run->Killed(id.index);
    task.phase = TaskPhase::kReleased;
    task.lost = true;
  }
}

std::vector<core::TaskId> SimAgent::Running() const {
  std::vector<core::TaskId> running;
  for (const auto& [id, task] : tasks_) {
    if (task.phase != TaskPhase::kReleased) running.push_back(id);
  }
  return running;
}

void SimAgent::TakeIn(std::uint64_t epoch, std::uint64_t revision, const std::vector<SentTask>& desired) {
  if (std::pair(epoch, revision) < newest_) return;
  newest_ = {epoch, revision};
  for (const SentTask& wanted : desired) {
    const auto known = tasks_.find(wanted.id);
    if (known == tasks_.end()) {
      if (wanted.launch) {
        Launch(wanted);
      } else {
        tasks_[wanted.id] = {TaskPhase::kReleased, nullptr, true, false, false, false};
        ReportSoon();
      }
      continue;
    }
    SimTask& task = known->second;
    if (task.phase == TaskPhase::kReleased) continue;
    if (wanted.interrupt && task.run) task.run->Interrupted(wanted.id.index, wanted.round);
    if (wanted.stop && !task.stopping) Stop(wanted.id);
  }
  // Unlisted and gone: forgotten. Unlisted and alive: left alone.
  std::erase_if(tasks_, [&](const auto& entry) {
    const bool listed = std::any_of(desired.begin(), desired.end(), [&](const SentTask& w) { return w.id == entry.first; });
    return !listed && entry.second.phase == TaskPhase::kReleased;
  });
}

void SimAgent::Launch(const SentTask& wanted) {
  for (const auto& [id, task] : tasks_) {
    if (task.phase != TaskPhase::kReleased) world_.violation("two attempts on one node: " + ToString(id.attempt));
  }
  const JobScript& script = world_.script(wanted.id.attempt.job);
  SimTask& task = tasks_[wanted.id];
  if (script.start_fails_one_in > 0 && world_.rng.OneIn(script.start_fails_one_in)) {
    task.phase = TaskPhase::kReleased;
    task.start_failed = true;
    ReportSoon();
    return;
  }
  task.run = world_.join(wanted.id, wanted.base_step);
  const core::TaskId id = wanted.id;
  world_.timeline.After(Milliseconds(world_.rng.Between(5, 3000)), [this, id] {
    const auto it = tasks_.find(id);
    if (it == tasks_.end() || it->second.phase != TaskPhase::kStarting) return;
    it->second.phase = TaskPhase::kRunning;
    it->second.run->TaskRunning(id.index);
    ReportSoon();
  });
  if (wanted.interrupt) task.run->Interrupted(wanted.id.index, wanted.round);
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
  if (it == tasks_.end() || !it->second.run || it->second.phase == TaskPhase::kReleased) return;
  it->second.run->Killed(id.index);
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
  world_.timeline.After(Seconds(10), [this] { Heartbeat(); });
}

void SimAgent::ReportSoon() {
  if (report_due_) return;
  report_due_ = true;
  world_.timeline.After(Milliseconds(1), [this] { SendReport(); });
}

void SimAgent::SendReport() {
  report_due_ = false;
  core::NodeReported report{node_, session_, false, {}};
  std::vector<core::TaskId> gone;
  for (auto& [id, task] : tasks_) {
    core::ObservedTask seen;
    seen.id = id;
    seen.phase = task.phase;
    seen.lost = task.lost;
    seen.start_failed = task.start_failed;
    if (task.run) {
      seen.ranks = task.run->RanksOf(id.index);
      seen.exit_code = task.run->ExitCode(id.index);
      if (task.run->Exited(id.index)) gone.push_back(id);
    }
    report.tasks.push_back(std::move(seen));
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
