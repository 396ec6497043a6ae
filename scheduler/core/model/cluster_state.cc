#include "scheduler/core/model/cluster_state.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "scheduler/core/model/index_entries.h"
#include "scheduler/core/model/time_limit.h"
#include "sdk/base/check.h"

namespace glim::core {
namespace {

template <typename Entry, typename Row, typename... Of>
std::optional<Entry> EntryOf(const Row* row, const Of&... of) {
  return row ? std::optional<Entry>(std::in_place, *row, of...) : std::nullopt;
}

// Are the layouts (pool_layout.h) of these the same?
bool LaidAlike(const Node& a, const Node& b) {
  return a.labels == b.labels && a.allowed_folders == b.allowed_folders && a.only_uid == b.only_uid &&
         a.needs_uid == b.needs_uid;
}

}  // namespace

Agreement* Attempt::open_agreement() { return const_cast<Agreement*>(std::as_const(*this).open_agreement()); }

const Agreement* Attempt::open_agreement() const {
  if (agreements.empty()) return nullptr;
  const Agreement& last = agreements.back();
  return last.state == AgreementState::kWithdrawn || last.state == AgreementState::kEnded ? nullptr : &last;
}

const Layouts& ClusterState::layouts() const {
  if (!layouts_) {
    std::vector<const Node*> nodes;
    tables_.nodes.ForEach([&](NodeId, const Node& row) { nodes.push_back(&row); });
    layouts_ = std::make_shared<const Layouts>(MakeLayouts(nodes));
  }
  return *layouts_;
}

const Job& ClusterState::JobOf(const Attempt& attempt) const {
  const Job* job = FindJob(attempt.id.job);
  GLIM_CHECK(job, "attempt " + ToString(attempt.id) + " without a job");
  return *job;
}

const Attempt* ClusterState::LiveAttempt(const Job& job) const {
  const Attempt* attempt = FindAttempt({job.id, job.attempts});
  return attempt && attempt->state != AttemptState::kEnded ? attempt : nullptr;
}

void ClusterState::ListJob(const Job* old, const std::shared_ptr<const Job>& row) {
  if (old) {
    const JobPlace was = PlaceOf(*old);
    if (!row || was != PlaceOf(*row) || old->user != row->user) {
      tables_.listed.Erase(was);
      tables_.listed_by_user.Erase({old->user, was});
    }
    index_.counts.Count(*old, false);
  }
  if (!row) return;
  const JobPlace place = PlaceOf(*row);
  tables_.listed.Put(place, row);
  tables_.listed_by_user.Put({row->user, place}, row);
  index_.counts.Count(*row, true);
}

template <typename Entry>
void ClusterState::Update(const std::optional<Entry>& old, const Entry& entry) {
  if (old == entry) return;
  if (old) ChangeIndex(*old, false);
  ChangeIndex(entry, true);
}

std::shared_ptr<const Job> ClusterState::Put(Job row) {
  newest = std::max({newest, row.submitted_at, row.queued_at, row.ended_at});
  const auto stored = std::make_shared<const Job>(std::move(row));
  const Job* old = FindJob(stored->id);
  Update(EntryOf<SavesEntry>(old), SavesEntry(*stored));
  Update(EntryOf<JobEntry>(old), JobEntry(*stored));
  const Attempt* live = old && old->spec != stored->spec ? LiveAttempt(*old) : nullptr;
  if (live) Update(std::optional(AttemptEntry(*live, *old)), AttemptEntry(*live, *stored));
  ListJob(old, stored);
  Keep(tables_.jobs.Put(stored->id, stored));
  if (stored->id >= next_job_id) next_job_id = JobId(stored->id.value + 1);
  return stored;
}

std::shared_ptr<const Attempt> ClusterState::Put(Attempt row) {
  newest =
      std::max({newest, row.claimed_at, row.started_at, row.running_at, row.stop_at, row.ended_at, row.durable_at});
  for (const Agreement& r : row.agreements) {
    newest = std::max({newest, r.requested_at, r.notified_at, r.agreed_at, r.saved_at, r.left_at, r.released_at});
  }
  const auto stored = std::make_shared<const Attempt>(std::move(row));
  const Job& job = JobOf(*stored);
  const Attempt* old = FindAttempt(stored->id);
  if (old) CountInterval(*old, false);
  CountInterval(*stored, true);
  Update(EntryOf<AttemptEntry>(old, job), AttemptEntry(*stored, job));
  Keep(tables_.attempts.Put(stored->id, stored));
  return stored;
}

std::shared_ptr<const Task> ClusterState::Put(Task row) {
  const auto stored = std::make_shared<const Task>(std::move(row));
  Keep(tables_.tasks.Put(stored->id, stored));
  return stored;
}

std::shared_ptr<const Node> ClusterState::Put(Node row) {
  newest = std::max({newest, row.use_since, row.cordon ? row.cordon->since : TimePoint{}});
  const auto stored = std::make_shared<const Node>(std::move(row));
  const Node* old = FindNode(stored->id);
  if (!old || !LaidAlike(*old, *stored)) layouts_ = nullptr;
  if (old) index_.counts.Count(*old, false);
  index_.counts.Count(*stored, true);
  if (old && old->name != stored->name) tables_.node_ids.Erase(old->name);
  if (!old || old->name != stored->name) {
    tables_.node_ids.Put(stored->name, std::make_shared<const NodeId>(stored->id));
  }
  Update(EntryOf<NodeEntry>(old), NodeEntry(*stored));
  Keep(tables_.nodes.Put(stored->id, stored));
  if (stored->id >= next_node_id) next_node_id = NodeId(stored->id.value + 1);
  return stored;
}

std::shared_ptr<const Share> ClusterState::Put(Share row) {
  const auto stored = std::make_shared<const Share>(std::move(row));
  Keep(tables_.shares.Put(stored->id, stored));
  index_.team_service.Put(*stored);
  return stored;
}

std::shared_ptr<const LifeTable> ClusterState::Put(LifeTable row) {
  const auto stored = std::make_shared<const LifeTable>(std::move(row));
  Keep(tables_.life_tables.Put(stored->id, stored));
  index_.history.Put(*stored);
  return stored;
}

std::shared_ptr<const Budget> ClusterState::Put(Budget row) {
  newest = std::max(newest, row.made_at);
  auto stored = std::make_shared<const Budget>(std::move(row));
  Keep(tables_.budgets.Put(stored->id, stored));
  return stored;
}

void ClusterState::SetAccounts(Accounts accounts) {
  Keep(std::exchange(tables_.accounts, std::make_shared<const Accounts>(std::move(accounts))));
}

void ClusterState::ChangeIdentity(const std::vector<IdentityChange>& changes) {
  auto next = std::make_shared<Identity>(*tables_.identity);
  for (const IdentityChange& change : changes) {
    const auto* token = std::get_if<TokenRow>(&change.row);
    const TokenRow* old = token ? next->tokens.Find(token->id) : nullptr;
    if (old) IndexToken(*old, false);
    if (token && !change.removed) IndexToken(*token, true);
    next->Change(change);
  }
  Keep(std::exchange(tables_.identity, std::move(next)));
}

ClusterState ClusterState::Of(const Tables& tables) {
  ClusterState state;
  state.tables_ = tables;
  tables.jobs.ForEach([&](JobId id, const Job& row) {
    state.ChangeIndex(JobEntry(row), true);
    state.index_.counts.Count(row, true);
    state.ChangeIndex(SavesEntry(row), true);
    state.next_job_id = JobId(id.value + 1);
  });
  tables.attempts.ForEach([&](const AttemptId&, const Attempt& row) {
    state.ChangeIndex(AttemptEntry(row, state.JobOf(row)), true);
    state.CountInterval(row, true);
  });
  tables.nodes.ForEach([&](NodeId id, const Node& row) {
    state.ChangeIndex(NodeEntry(row), true);
    state.index_.counts.Count(row, true);
    state.next_node_id = NodeId(id.value + 1);
  });
  tables.shares.ForEach([&](const ShareId&, const Share& row) { state.index_.team_service.Put(row); });
  tables.life_tables.ForEach([&](const LifeTableId&, const LifeTable& row) { state.index_.history.Put(row); });
  tables.reservations.ForEach([&](const std::string&, const Reservation& row) { state.IndexReservation(row, true); });
  tables.identity->tokens.ForEach([&](const std::string&, const TokenRow& row) { state.IndexToken(row, true); });
  return state;
}

Index ClusterState::RebuildIndex() const {
  ClusterState fresh;
  EachTable(tables_, [&](const auto& table) { table.ForEach([&](const auto&, const auto& row) { fresh.Put(row); }); });
  tables_.identity->tokens.ForEach([&](const std::string&, const TokenRow& row) { fresh.IndexToken(row, true); });
  return fresh.index_;
}

}  // namespace glim::core
