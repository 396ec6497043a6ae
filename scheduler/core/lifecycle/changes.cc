#include "scheduler/core/lifecycle/changes.h"

#include <numeric>

#include "scheduler/core/lifecycle/ledger.h"
#include "scheduler/core/lifecycle/plan_entries.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/planted.h"  // of plan_entries.h: its includers get the bugs (planted.cmake)
#include "scheduler/core/model/progress.h"

namespace glim::core {
namespace {

constexpr std::uint64_t kJobIdsSkippedMost = 1'000'000;

}  // namespace

void Changes::Write(Job row) {
  const Job* old = state_.FindJob(row.id);
  if (old && *old == row) return;
  if (CallsForAPass<JobToPlan>(old, row)) MarkDirty();
  transition_.mutations.emplace_back(state_.Put(std::move(row)));
}

void Changes::Write(Attempt row) {
  const Attempt* old = state_.FindAttempt(row.id);
  if (old && *old == row) return;
  if (old && DiffersInProgressAlone(*old, row)) {
    if (now_ < row.progress_at + kProgressEvery) {
      state_.Put(std::move(row));
      return;
    }
    row.progress_at = now_;
  }
  if (CallsForAPass<AttemptToPlan>(old, row)) MarkDirty();
  const AttemptId id = row.id;
  if (row.state == AttemptState::kEnded) ForgetTokensOf(id);
  const bool same_use = old && UseByHolder(*old) == UseByHolder(row);
  transition_.mutations.emplace_back(state_.Put(std::move(row)));
  if (!same_use) BookNodesOf(id);
}

void Changes::BookNodesOf(AttemptId id) {
  const Attempt* attempt = state_.FindAttempt(id);
  if (!attempt) return;
  const std::vector<NodeId> nodes = attempt->nodes;
  for (const NodeId id_of_node : nodes) {
    const Node* node = state_.FindNode(id_of_node);
    if (node && node->holder == id && UseOf(state_, *node) != node->use) EditNode(id_of_node, [](Node&) {});
  }
}

// A job's own tokens are good for as long as the attempt that has them.
void Changes::ForgetTokensOf(AttemptId id) {
  const auto tokens = state_.index().job_tokens.find(id);
  if (tokens == state_.index().job_tokens.end()) return;
  std::vector<IdentityChange> gone;
  for (const std::string& token : tokens->second) gone.push_back({*state_.identity().tokens.Find(token), true});
  ChangeIdentity(std::move(gone));
}

Written Changes::Write(Task row) {
  const Task* old = state_.FindTask(row.id);
  if (old && *old == row) return Written::kNothing;
  const bool progress = old && DiffersInProgressAlone(*old, row);
  auto stored = state_.Put(std::move(row));
  if (progress) return Written::kProgress;
  transition_.mutations.emplace_back(std::move(stored));
  return Written::kRow;
}

void Changes::Write(Node row) {
  const Node* old = state_.FindNode(row.id);
  const Booked booked = BookNode(state_, now_, old, row);
  if (booked.gpu_ms != 0 && old->holder) BookJob(old->holder.job, booked.use, booked.gpu_ms);
  if (old && *old == row) return;
  if (!old || old->state != row.state) ForgetSilence();
  if (CallsForAPass<NodeToPlan>(old, row)) MarkDirty();
  transition_.mutations.emplace_back(state_.Put(std::move(row)));
}

void Changes::EraseJob(JobId id) {
  for (const AttemptId& attempt : state_.AttemptsOf(id)) EraseAttempt(attempt);
  Erase<Job>(id);
}

void Changes::EraseAttempt(AttemptId id) {
  if (!state_.FindAttempt(id)) return;
  EraseTasks(id);
  Erase<Attempt>(id);
}

void Changes::EraseTasks(AttemptId id) {
  for (const Task* task : TasksOf(state_, id)) Erase<Task>(task->id);
}

void Changes::Write(Share row) { transition_.mutations.emplace_back(state_.Put(std::move(row))); }

void Changes::Write(LifeTable row) { transition_.mutations.emplace_back(state_.Put(std::move(row))); }

void Changes::Write(Reservation row) {
  const Reservation* old = state_.FindReservation(row.name);
  if (old && *old == row) return;
  state_.dirty = true;
  transition_.mutations.emplace_back(state_.Put(std::move(row)));
}

void Changes::EraseReservation(const std::string& name) {
  Erase<Reservation>(name);
  MarkDirty();
}

void Changes::Write(Budget row) { transition_.mutations.emplace_back(state_.Put(std::move(row))); }

void Changes::EraseBudget(const BudgetId& id) {
  Erase<Budget>(id);
  MarkDirty();
}

void Changes::EraseNode(NodeId id) {
  Erase<Node>(id);
  ForgetSilence();
  MarkDirty();
}

void Changes::SetAccounts(Accounts accounts, std::vector<AccountChange> done) {
  state_.SetAccounts(std::move(accounts));
  for (AccountChange& change : done) transition_.mutations.emplace_back(std::move(change));
  state_.dirty = true;
}

void Changes::ChangeIdentity(std::vector<IdentityChange> done) {
  if (done.empty()) return;
  state_.ChangeIdentity(done);
  for (IdentityChange& change : done) {
    change.expected.reset();
    change.only_new = false;
    transition_.mutations.emplace_back(std::move(change));
  }
}

JobId Changes::NewJobId() {
  const JobId id = state_.next_job_id;
  state_.next_job_id = JobId(id.value + 1);
  ids_changed_ = true;
  return id;
}

void Changes::SkipJobIds(JobId known) {
  // No store is older by more jobs: what an agent says is bounded, or one lie would use up all numbers.
  if (known < state_.next_job_id || known.value - state_.next_job_id.value > kJobIdsSkippedMost) return;
  state_.next_job_id = JobId(known.value + 1);
  ids_changed_ = true;
}

NodeId Changes::NewNodeId() {
  const NodeId id = state_.next_node_id;
  state_.next_node_id = NodeId(id.value + 1);
  ids_changed_ = true;
  return id;
}

void Changes::SyncAttempt(const Attempt& attempt) {
  for (const NodeId node : attempt.nodes) Sync(node);
}

void Changes::Note(HistoryKind kind, AttemptId attempt, NodeId node, std::string text, HistoryFacts facts) {
  if (text.size() > kHistoryTextBytesMax) {
    text.resize(kHistoryTextBytesMax - 3);
    text += "...";
  }
  transition_.mutations.emplace_back(
      HistoryEntry{now_, kind, attempt.job, attempt.number, node, std::move(text), std::move(facts)});
}

void Changes::NameNodes(const std::vector<NodeId>& nodes, HistoryFacts& facts) const {
  for (const NodeId id : nodes) {
    if (facts.node_names.size() == kHistoryNamesMax) {
      ++facts.node_names_left_out;
    } else {
      facts.node_names.push_back(node(id).name);
    }
  }
}

void Changes::BookAll() {
  std::map<BudgetId, std::int64_t> of_budgets;
  for (const auto& booked : std::exchange(booked_, {})) {
    const Job* const charged = state_.FindJob(booked.first);
    if (!charged) continue;
    if (state_.FindBudget(charged->team)) {
      of_budgets[{charged->team}] += std::accumulate(booked.second.begin(), booked.second.end(), std::int64_t{0});
    }
    EditJob(booked.first, [&](Job& job) {
      for (std::size_t use = 0; use < job.ledger.size(); ++use) job.ledger[use] += booked.second[use];
    });
  }
  for (const auto& [id, gpu_ms] : of_budgets) {
    Budget budget = *state_.FindBudget(id.team);
    budget.booked_gpu_ms += gpu_ms;
    Write(std::move(budget));
  }
}

Transition Changes::Take() {
  BookAll();
  if (ids_changed_) transition_.mutations.emplace_back(PutIds{state_.next_job_id, state_.next_node_id});
  state_.ForgetReplaced();
  return std::move(transition_);
}

}  // namespace glim::core
