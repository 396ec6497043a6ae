#include "scheduler/sim/world/truth.h"

#include <algorithm>
#include <memory>
#include <variant>

#include "scheduler/core/model/progress.h"

namespace glim::sim {

using core::Attempt;
using core::AttemptId;
using core::Job;
using core::JobId;
using core::Node;
using core::NodeId;
using core::TaskId;

namespace {

void Replace(core::UseTotals& sum, core::UseTotals& old, const core::UseTotals& now) {
  for (std::size_t use = 0; use < core::kUses; ++use) sum[use] += now[use] - old[use];
  old = now;
}

bool IsSame(const Job& a, const Job& b) {
  Job like_b = a;
  like_b.spec = b.spec;
  return like_b == b && *a.spec == *b.spec;
}

// How far ranks are is stored now and then (progress.h).
template <typename Row>
bool IsSame(const Row& a, const Row& b) {
  return core::SameButProgress(a, b);
}

template <typename Table>
bool IsSameTable(const Table& committed, const Table& loaded) {
  bool same = committed.size() == loaded.size();
  committed.ForEach([&](const auto& key, const auto& row) {
    const auto* other = loaded.Find(key);
    same = same && other && IsSame(row, *other);
  });
  return same;
}

}  // namespace

void Truth::Expect(bool holds, const char* what, AttemptId attempt) {
  if (!holds && !left_out_.contains(attempt)) violation_("attempt " + core::ToString(attempt) + ": " + what);
}

bool Truth::Acknowledged(JobId job) {
  if (job <= newest_) {
    violation_("job id " + std::to_string(job.value) + " was given twice");
    return false;
  }
  newest_ = job;
  unfinished_.insert(job);
  return true;
}

void Truth::Committed(const std::vector<core::Mutation>& mutations, TimePoint now) {
  now_ = now;
  for (const core::Mutation& mutation : mutations) {
    if (const auto* job = std::get_if<std::shared_ptr<const Job>>(&mutation)) See(**job);
    if (const auto* attempt = std::get_if<std::shared_ptr<const Attempt>>(&mutation)) See(**attempt);
    if (const auto* task = std::get_if<std::shared_ptr<const core::Task>>(&mutation)) See(**task);
    if (const auto* node = std::get_if<std::shared_ptr<const Node>>(&mutation)) See(**node);
    if (const auto* gone = std::get_if<core::Deleted<core::Job>>(&mutation)) Forget(gone->id);
    if (const auto* gone = std::get_if<core::Deleted<core::Node>>(&mutation)) removed_.insert(gone->id);
  }
}

void Truth::See(const Job& row) {
  JobTruth& job = jobs_[row.id];
  Replace(of_jobs_, job.ledger, row.ledger);
  job.limit = row.spec->time_limit;
  if (row.attempts > job.attempts) SeeDispatch(row, job);
  job.attempts = row.attempts;
  if (core::IsTerminal(row.state)) ends_[row.id] = row.state;
  const bool is_the_same = row.durable.step == job.durable.step && row.durable.attempt == job.durable.attempt;
  if (is_the_same || row.durable.step < job.durable.step) {
    const bool waits = row.spec->if_unreachable == core::IfUnreachable::kWait;
    const bool lost = IsLost(job.durable) && (!waits || IsRemoved(job.durable));
    const auto began = began_from_({row.id, row.attempts});
    const bool damaged = began && *began < job.durable.step && *began <= row.durable.step;
    const bool may_go_back = lost || damaged;
    Expect(is_the_same || may_go_back, "its job's newest save went back", {row.id, row.attempts});
    job.durable = row.durable;
    return;
  }
  const AttemptId writer{row.id, row.durable.attempt};
  const auto known = attempts_.find(writer);
  Expect(known != attempts_.end() && !known->second.ended, "its save became its job's newest after its end", writer);
  job.durable = row.durable;
}

void Truth::SeeDispatch(const Job& row, const JobTruth& job) {
  const AttemptId attempt{row.id, row.attempts};
  Expect(!job.hopeless, "a start of its job failed before by the job's own fault", attempt);
  Expect(job.limit.ms == 0 || job.ran < job.limit, "its job has used up its time limit", attempt);
  for (const core::Dependency& dependency : row.spec->after) {
    const auto end = ends_.find(dependency.job);
    const bool over = end != ends_.end();
    const bool ok = over && end->second == core::JobState::kSucceeded;
    const bool as_asked = dependency.when == core::DependencyKind::kAny  ? over
                          : dependency.when == core::DependencyKind::kOk ? ok
                                                                         : over && !ok;
    Expect(as_asked, "a job that its job waits for has not ended as asked", attempt);
  }
}

void Truth::See(const Attempt& row) {
  AttemptTruth& attempt = attempts_[row.id];
  if (row.started_at) {
    if (!attempt.started) {
      attempt.base = jobs_[row.id.job].durable;
      attempt.started = true;
    }
    if (row.base.step < attempt.base.step && began_from_(row.id) == row.base.step) attempt.base = row.base;
    Expect(row.base == attempt.base, "it does not go on from the save that was its job's newest at its start", row.id);
  }
  JobTruth& job = jobs_[row.id.job];
  if (!attempt.at_limit && !row.agreements.empty() && row.agreements.back().time_limit) {
    // Judged when it is asked: a leader that crashed since then may have counted ahead of the next one's clock.
    attempt.at_limit = true;
    Expect(job.limit.ms > 0 && job.ran + (now_ - row.started_at) >= job.limit,
           "it was asked to leave before its job's time limit", row.id);
  }
  if (row.state == core::AttemptState::kEnded && !attempt.ended) {
    attempt.ended = true;
    if (row.started_at) job.ran = job.ran + (row.ended_at - row.started_at);
    job.hopeless = job.hopeless || (attempt.jobs_fault && row.outcome == core::Outcome::kStartFailed);
    const bool timeout = row.outcome == core::Outcome::kTimeout;
    Expect(!timeout || attempt.at_limit || (job.limit.ms > 0 && job.ran >= job.limit),
           "it ended before its job's time limit", row.id);
  }
  for (const core::Agreement& agreement : row.agreements) {
    if (agreement.id > attempt.asked) {
      attempt.asked = agreement.id;
      const Duration grace = agreement.deadline - agreement.requested_at;
      const core::PriorityClass in_force = row.borrowed ? core::PriorityClass::kLow : row.charged;
      Expect(grace <= caps_.For(in_force), "it was given a longer grace than its class may have", row.id);
    }
    if (!agreement.agreed_at) continue;
    const auto [known, is_new] = attempt.stop_steps.emplace(agreement.id, agreement.stop_step);
    Expect(is_new || known->second == agreement.stop_step, "S changed after it was committed", row.id);
  }
}

void Truth::See(const core::Task& row) {
  if (row.start_failed && row.job_fault) attempts_[row.id.attempt].jobs_fault = true;
}

void Truth::See(const Node& row) {
  Replace(of_nodes_, nodes_[row.id], row.ledger);
  if (row.state == core::NodeState::kLost) {
    lost_.insert(row.id);
  } else {
    lost_.erase(row.id);
  }
}

bool Truth::IsLost(const core::Checkpoint& save) const {
  const auto is_lost = [this](NodeId node) { return lost_.contains(node) || removed_.contains(node); };
  return !save.local.empty() && std::any_of(save.parts.begin(), save.parts.end(), is_lost) &&
         std::all_of(save.copies.begin(), save.copies.end(), is_lost);
}

// None of it will come back.
bool Truth::IsRemoved(const core::Checkpoint& save) const {
  const auto is_removed = [this](NodeId node) { return removed_.contains(node); };
  const bool copies_gone = std::all_of(save.copies.begin(), save.copies.end(), is_removed);
  return copies_gone && std::any_of(save.parts.begin(), save.parts.end(), is_removed);
}

// Its GPU-time was used all the same.
void Truth::Forget(JobId job) {
  jobs_.erase(job);
  attempts_.erase(attempts_.lower_bound({job, 0}), attempts_.lower_bound({JobId(job.value + 1), 0}));
}

void Truth::CheckJobs(const core::ClusterState& state) {
  std::erase_if(unfinished_, [&](JobId id) {
    const Job* job = state.FindJob(id);
    // A batch may end more jobs than are kept.
    if (!job && !ends_.contains(id)) violation_("acknowledged job " + std::to_string(id.value) + " is gone");
    return !job || core::IsTerminal(job->state);
  });
}

void Truth::CheckLedger() {
  for (std::size_t i = 0; i < core::kUses; ++i) {
    const auto use = static_cast<core::Use>(i);
    const bool of_nobody = use == core::Use::kFree || use == core::Use::kUnavailable;
    const std::int64_t booked = of_nobody ? 0 : of_nodes_[i];
    if (of_jobs_[i] == booked) continue;
    violation_(std::string("the ledger leaks: ") + std::to_string(booked) + " GPU-ms " + core::ToString(use) +
               " on nodes, " + std::to_string(of_jobs_[i]) + " of jobs");
  }
}

void Truth::CheckReleases(const core::ClusterState& state, const core::NodeReported& report) {
  const Node* node = state.FindNode(report.node);
  const auto live = state.liveness.find(report.node);
  if (!node || live == state.liveness.end() || live->second.session != report.session) return;
  for (const core::ObservedTask& seen : report.tasks) {
    if (seen.phase != core::TaskPhase::kReleased || node->holder != seen.id.attempt) continue;
    Expect(false, "its node was released by the agent, and it still holds the node", seen.id.attempt);
  }
}

void Truth::CheckRunning(const core::ClusterState& state, NodeId id, const std::vector<TaskId>& running) {
  const Node* node = state.FindNode(id);
  for (const TaskId task : running) {
    const bool known = node && (node->holder == task.attempt ||
                                std::count(node->stale_tasks.begin(), node->stale_tasks.end(), task) > 0 ||
                                std::count(node->orphans.begin(), node->orphans.end(), task.attempt) > 0 ||
                                std::count(node->unproven.begin(), node->unproven.end(), task.attempt) > 0);
    Expect(known, "it runs on a node where the scheduler knows nothing of it", task.attempt);
  }
}

void Truth::CheckReload(const core::Tables& committed, const core::ClusterState& loaded) {
  CheckJobs(loaded);
  const core::Tables& tables = loaded.tables();
  if (!IsSameTable(committed.jobs, tables.jobs)) violation_("the store gave back other jobs");
  if (!IsSameTable(committed.attempts, tables.attempts)) violation_("the store gave back other attempts");
  if (!IsSameTable(committed.tasks, tables.tasks)) violation_("the store gave back other tasks");
  if (!IsSameTable(committed.nodes, tables.nodes)) violation_("the store gave back other nodes");
}

}  // namespace glim::sim
