#include "scheduler/server/agents/saves_review.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "scheduler/core/model/save_retention.h"
#include "sdk/base/printable.h"
#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr int kJobsMax = 50'000;

Status Refusal(StatusCode code, const char* reason, const char* field, std::string message, const char* fix) {
  return Status(code, std::move(message)).WithReason(reason).WithField(field).WithFix(fix);
}

// Of whoever says to be this node.
Result<core::NodeId> NodeOf(const Snapshot& snapshot, const v1::SavesHeld& held) {
  const core::NodeId* const id = snapshot.tables.node_ids.Find(held.node_name());
  const core::Node* const node = id ? snapshot.tables.nodes.Find(*id) : nullptr;
  if (!node) {
    return Refusal(StatusCode::kNotFound, "NO_SUCH_NODE", "node_name", "no node " + Printable(held.node_name()),
                   "say hello first");
  }
  if (node->machine_id != held.machine_id()) {
    return Refusal(StatusCode::kPermissionDenied, "WRONG_MACHINE", "machine_id",
                   "node " + node->name + " is another machine",
                   "give each agent a name and a state folder of its own");
  }
  return node->id;
}

std::vector<core::HeldSaves> HeldOf(const v1::SavesHeld& held) {
  std::vector<core::HeldSaves> out;
  out.reserve(static_cast<std::size_t>(held.held_size()));
  for (const v1::JobSaves& one : held.held()) {
    if (one.in_use()) continue;  // it is told, not asked about
    out.push_back({core::JobId{one.job_id()}, one.bytes(), TimePoint{one.changed_at_ms()}, one.noted()});
  }
  return out;
}

core::SavesRemoved RemovedOf(core::NodeId node, const v1::SavesHeld& held) {
  core::SavesRemoved event{node, held.shared(), {}};
  for (const v1::JobSaves& one : held.removed()) event.jobs.emplace_back(core::JobId{one.job_id()}, one.bytes());
  return event;
}

}  // namespace

// An agent of an earlier release does not say that it has looked: what it holds tells, if that is anything.
void SavesReview::Keep(core::NodeId node, const v1::SavesHeld& held) const {
  std::set<core::JobId> removed;
  for (const v1::JobSaves& one : held.removed()) removed.insert(core::JobId{one.job_id()});
  if (!removed.empty()) held_->Remove(node, held.shared(), removed);
  if (!held.looked() && held.held_size() == 0) return;
  HeldSaves::Told told{node, held.shared(), loop_->Now(), {}};
  told.jobs.reserve(static_cast<std::size_t>(held.held_size()));
  for (const v1::JobSaves& one : held.held()) {
    told.jobs.push_back({core::JobId{one.job_id()}, std::max<std::int64_t>(0, one.bytes()), one.saves()});
  }
  if (!held_->Put(std::move(told)))
    LogWarning("too many jobs' saves are told to keep those of node={}", Printable(held.node_name()));
}

Status SavesReview::Answer(const AgentPeer& agent, const std::string& peer, const v1::SavesHeld& held,
                           v1::SavesVerdict* verdict) const {
  const Result<Admission> admission = limits_->Admit({"", peer}, {{Bound::kCalls, 1}});
  if (!admission.ok()) return admission.status();
  if (held.cluster_id() != cluster_id_) {
    return Refusal(
        StatusCode::kFailedPrecondition, "WRONG_CLUSTER", "cluster_id",
        "the agent belongs to cluster " + Printable(held.cluster_id()) + ", this scheduler to " + cluster_id_,
        "point the agent at its own cluster's scheduler");
  }
  if (held.held_size() > kJobsMax || held.removed_size() > kJobsMax) {
    return Refusal(StatusCode::kInvalidArgument, "BAD_AGENT_MESSAGE", "held", "too many jobs at once",
                   "tell at most 50000");
  }
  const SnapshotPtr snapshot = loop_->snapshot();
  if (snapshot->stale_since) {
    return Refusal(StatusCode::kUnavailable, "STORE_UNREACHABLE", "", "the store is away", "ask again later");
  }
  if (Status s = gate_->CheckNode(agent, *snapshot->tables.identity, loop_->Now(), held.node_name(), held.machine_id());
      !s.ok()) {
    gate_->Denied(agent, peer, "/glim.v1.AgentApi/ReviewSaves", "node " + Printable(held.node_name()), s);
    return s;
  }
  const Result<core::NodeId> node = NodeOf(*snapshot, held);
  if (!node.ok()) return node.status();
  if (held.removed_size() > 0) {
    Status posted = loop_->PostUnbounded(RemovedOf(*node, held), nullptr);
    if (!posted.ok()) return posted;
  }
  Keep(*node, held);
  const core::Policy& policy = *snapshot->policy;
  const bool collects = core::RootCollector(snapshot->tables, policy) == *node;
  verdict->set_epoch(loop_->epoch());
  verdict->set_again_ms(held_->ShouldHurry(*node) ? 1 : policy.checkpoint_retention.every.ms);
  if (collects && !policy.checkpoint_retention.forever) verdict->set_collect_root(policy.checkpoint_root);
  if (held.shared() && !collects) return Status::Ok();  // another node does it by now
  const auto where = held.shared() ? core::SavesIn::kSharedRoot : core::SavesIn::kOwnFolder;
  const core::SavesVerdict judged = core::JudgeSaves(snapshot->tables, policy, loop_->Now(), where, HeldOf(held));
  for (const core::JobId job : judged.remove) verdict->add_remove(job.value);
  if (held.shared()) {
    for (const core::JobId job : judged.note) verdict->add_note(job.value);
  }
  return Status::Ok();
}

}  // namespace glim::server
