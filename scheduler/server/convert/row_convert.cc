#include "scheduler/server/convert/row_convert.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <set>
#include <string>

#include "scheduler/core/lifecycle/dependencies.h"
#include "scheduler/core/lifecycle/node_labels.h"
#include "scheduler/core/lifecycle/yield.h"
#include "scheduler/core/model/attempt_tasks.h"
#include "scheduler/core/model/first_start.h"
#include "scheduler/core/model/interrupt_terms.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/core/model/save_retention.h"
#include "scheduler/core/model/zone_link.h"
#include "scheduler/server/convert/health_convert.h"
#include "scheduler/server/convert/node_note.h"
#include "scheduler/server/convert/reservation_convert.h"
#include "scheduler/server/convert/usage_report.h"
#include "scheduler/wire/spec_convert.h"
#include "sdk/base/duration_text.h"

namespace glim::server {
namespace {

constexpr std::size_t kReplyBytesMax = 3 << 20;  // clients take 4 MiB by default
constexpr std::size_t kBlockerJobsMax = 32;

void RefToProto(core::AttemptId id, v1::AttemptRef* out) {
  out->set_job_id(id.job.value);
  out->set_number(id.number);
}

// From one moment to the next; -1 if either has not come. Never negative: a save may be reported after the leaving.
std::int64_t Between(TimePoint from, TimePoint to) {
  return from && to ? std::max<std::int64_t>(0, (to - from).ms) : -1;
}

TimePoint FirstSet(std::initializer_list<TimePoint> moments) {
  for (const TimePoint t : moments) {
    if (t) return t;
  }
  return {};
}

void AgreementToProto(const core::Attempt& attempt, const core::Agreement& agreement, TimePoint now,
                      v1::Agreement* out) {
  out->set_id(agreement.id);
  out->set_state(core::ToString(agreement.state));
  out->set_reason(agreement.reason);
  if (agreement.preemptor) {
    RefToProto(agreement.preemptor, out->mutable_preemptor());
    out->set_preemptor_name(agreement.preemptor_name);
    out->set_preemptor_user(agreement.preemptor_user);
  }
  out->set_requested_at_ms(agreement.requested_at.ms);
  out->set_grace_ms((agreement.deadline - agreement.requested_at).ms);
  const TimePoint end = FirstSet({agreement.left_at, agreement.released_at, attempt.ended_at, now});
  out->set_grace_used_ms(std::max<std::int64_t>(0, (end - agreement.requested_at).ms));
  out->set_stop_step(agreement.stop_step);
  AgreementTimesToProto(agreement, out->mutable_times());
  out->set_swap_aborted(agreement.swap_aborted);
}

// Of an attempt whose tasks are no rows any more, or none yet.
void EndedTaskToProto(const core::Attempt& attempt, std::uint32_t index, v1::TaskInfo* out) {
  const bool had_tasks = attempt.ended_at && attempt.outcome != core::Outcome::kClaimDropped;
  out->set_phase(core::ToString(had_tasks ? core::TaskPhase::kReleased : core::TaskPhase::kPending));
  if (!had_tasks) return;
  std::uint64_t end = 0;
  for (const core::EndedTasks& run : attempt.ended_tasks) {
    end += run.count;
    if (index >= end) continue;
    out->set_exit_code(run.exit_code);
    out->set_step(run.step);
    out->set_message(run.message);
    return;
  }
  out->set_message("how it ended is not kept: too many of its attempt ended differently");
}

void TaskToProto(const Snapshot& snapshot, const core::Attempt& attempt, std::uint32_t index, v1::TaskInfo* out) {
  out->set_index(index);
  if (const core::Node* node = snapshot.tables.nodes.Find(attempt.nodes[index])) {
    out->set_node(node->name);
    out->set_zone(node->labels.zone);
    out->set_simulated_gpus(node->labels.simulated_gpus);
  }
  out->set_step(-1);
  out->set_exit_code(-1);
  const core::Task* task = snapshot.tables.tasks.Find({attempt.id, index});
  if (!task) return EndedTaskToProto(attempt, index, out);
  out->set_phase(core::ToString(task->phase));
  if (core::ExitIsKnown(*task)) out->set_exit_code(task->exit_code);
  out->set_message(task->message);
  out->set_step(core::LeastStep(*task));
}

std::string InSeconds(Duration time) { return WriteDuration(Seconds((time.ms + 999) / 1000)); }

std::string BackoffWords(const core::Job& job, TimePoint now) {
  const double left = static_cast<double>((job.not_before - now).ms) / 1000.0;
  if (job.storage_failures > 0 || job.message.starts_with(core::kLeftAgain)) {
    return fmt::format("it is tried again in {:.1f} s: {}", left, job.message);
  }
  if (job.idle_yields == 0) {
    return fmt::format("it is tried again in {:.1f} s, after a failure that was not the program's", left);
  }
  return fmt::format("it is tried again in {:.1f} s: {} left by {} soon, and without a save", left,
                     job.idle_yields == 1 ? "its last attempt" : fmt::format("its last {} attempts", job.idle_yields),
                     job.idle_yields == 1 ? "itself" : "themselves");
}

// It has all its nodes, and begins when somebody has left the link that it is to cross.
std::vector<core::Blocker> LinkBlocker(const Snapshot& snapshot, const core::Attempt& attempt) {
  core::Blocker blocker;
  blocker.kind = core::BlockerKind::kLinkBusy;
  blocker.need = 1;
  snapshot.tables.attempts.ForEach([&](const core::AttemptId& id, const core::Attempt& other) {
    const bool begun = other.state != core::AttemptState::kClaimed && other.state != core::AttemptState::kEnded;
    if (begun && core::Crosses(other) && core::LinkOf(other) == core::LinkOf(attempt)) blocker.jobs.push_back(id.job);
  });
  const core::Link link = core::LinkOf(attempt);
  blocker.message = fmt::format(
      "it has its {} nodes and begins when the job that leaves the link {}-{} has released one "
      "side of it",
      attempt.nodes.size(), link.first, link.second);
  return {blocker};
}

std::vector<core::Blocker> ClaimingBlocker(const Snapshot& snapshot, const core::Attempt& attempt, TimePoint now) {
  if (attempt.nodes_held == attempt.nodes.size() && core::Crosses(attempt)) return LinkBlocker(snapshot, attempt);
  core::Blocker blocker;
  blocker.kind = core::BlockerKind::kClaiming;
  blocker.have = attempt.nodes_held;
  blocker.need = static_cast<std::int64_t>(attempt.nodes.size());
  std::set<core::JobId> holders;
  for (const core::NodeId id : attempt.nodes) {
    const core::Node* node = snapshot.tables.nodes.Find(id);
    if (node && node->holder && node->holder != attempt.id) holders.insert(node->holder.job);
  }
  blocker.jobs.assign(holders.begin(), holders.end());
  std::int64_t idle_ms = 0;
  TimePoint latest;
  for (const core::NodeId id : attempt.nodes) {
    const core::Node* node = snapshot.tables.nodes.Find(id);
    if (!node || !node->holder) continue;
    if (node->holder == attempt.id) idle_ms += std::max<std::int64_t>(0, (now - node->use_since).ms);
    const core::Attempt* leaving = snapshot.tables.attempts.Find(node->holder);
    const core::Agreement* open = leaving ? leaving->open_agreement() : nullptr;
    if (open) latest = std::max(latest, open->deadline);
  }
  blocker.message =
      fmt::format("it has {} of its {} nodes and waits until {} on the others {} left", blocker.have, blocker.need,
                  holders.size() == 1 ? "the job" : "the jobs", holders.size() == 1 ? "has" : "have");
  if (latest > now) blocker.message += fmt::format(", in {} at the latest", InSeconds(latest - now));
  if (idle_ms > 0)
    blocker.message += fmt::format("; those it has have stood idle for {} of node time", InSeconds({idle_ms}));
  return {blocker};
}

}  // namespace

std::vector<core::Blocker> BlockersOf(const Snapshot& snapshot, const core::Job& job, TimePoint now) {
  const core::Attempt* newest = snapshot.tables.attempts.Find({job.id, job.attempts});
  if (newest && newest->state == core::AttemptState::kClaimed) return ClaimingBlocker(snapshot, *newest, now);
  if (job.state != core::JobState::kQueued) return {};
  if (!job.waits_for.empty()) return core::DependencyBlockers(snapshot.tables, job);
  if (job.waits_for_save) return {core::SaveBlocker(snapshot.tables, job)};
  if (job.not_before > now && core::WaitsForFirstStart(job)) return {core::FirstStartBlocker(job, now)};
  if (job.not_before > now) {
    core::Blocker blocker;
    blocker.kind = core::BlockerKind::kBackoff;
    blocker.message = BackoffWords(job, now);
    return {blocker};
  }
  const auto verdict = snapshot.verdicts->find(core::ShapeOf(job));
  if (verdict != snapshot.verdicts->end() && !verdict->second.empty()) return verdict->second;
  core::Blocker blocker;
  blocker.kind = core::BlockerKind::kNotPlanned;
  blocker.message = "the next planning pass decides about it";
  return {blocker};
}

core::BlockerKind MainReasonOf(const Snapshot& snapshot, const core::Job& job, TimePoint now) {
  const core::Attempt* newest = snapshot.tables.attempts.Find({job.id, job.attempts});
  if (newest && newest->state == core::AttemptState::kClaimed) return core::BlockerKind::kClaiming;
  if (!job.waits_for.empty()) return core::BlockerKind::kDependency;
  if (job.waits_for_save) return core::SaveBlocker(snapshot.tables, job).kind;
  if (job.not_before > now) {
    return core::WaitsForFirstStart(job) ? core::BlockerKind::kStartAfter : core::BlockerKind::kBackoff;
  }
  const auto verdict = snapshot.verdicts->find(core::ShapeOf(job));
  const bool known = verdict != snapshot.verdicts->end() && !verdict->second.empty();
  return known ? verdict->second.front().kind : core::BlockerKind::kNotPlanned;
}

void BlockerToProto(const core::Blocker& blocker, v1::Blocker* out) {
  out->set_kind(core::ToString(blocker.kind));
  out->set_message(blocker.message);
  out->set_have(blocker.have);
  out->set_need(blocker.need);
  const std::size_t named = std::min(blocker.jobs.size(), kBlockerJobsMax);
  for (std::size_t i = 0; i < named; ++i) out->add_job_ids(blocker.jobs[i].value);
}

void AgreementTimesToProto(const core::Agreement& agreement, v1::AgreementTimes* out) {
  out->set_notify_ms(Between(agreement.requested_at, agreement.notified_at));
  out->set_agree_ms(Between(FirstSet({agreement.notified_at, agreement.requested_at}), agreement.agreed_at));
  out->set_save_ms(
      Between(FirstSet({agreement.agreed_at, agreement.notified_at, agreement.requested_at}), agreement.saved_at));
  out->set_leave_ms(
      Between(FirstSet({agreement.saved_at, agreement.agreed_at, agreement.notified_at, agreement.requested_at}),
              agreement.left_at));
  out->set_release_ms(Between(FirstSet({agreement.left_at, agreement.saved_at, agreement.agreed_at,
                                        agreement.notified_at, agreement.requested_at}),
                              agreement.released_at));
}

void StartTimesToProto(const Snapshot& snapshot, const core::Attempt& attempt, v1::StartTimes* out) {
  std::int64_t notify = -1, agree = -1, save = -1, release = -1;
  for (const core::AttemptId id : attempt.victims) {
    const core::Attempt* victim = snapshot.tables.attempts.Find(id);
    if (!victim) continue;  // pruned by age
    const auto agreement = std::find_if(victim->agreements.rbegin(), victim->agreements.rend(),
                                        [&](const core::Agreement& r) { return r.preemptor == attempt.id; });
    if (agreement == victim->agreements.rend()) continue;
    v1::AgreementTimes times;
    AgreementTimesToProto(*agreement, &times);
    notify = std::max(notify, times.notify_ms());
    agree = std::max(agree, times.agree_ms());
    save = std::max(save, times.save_ms());
    // A start has no phase of its own for the leaving: with it the phases add up to the whole wait.
    if (times.release_ms() < 0) continue;
    release = std::max(release, times.release_ms() + std::max<std::int64_t>(0, times.leave_ms()));
  }
  out->set_queued_ms(Between(attempt.queued_at, attempt.claimed_at));
  out->set_notify_ms(notify);
  out->set_agree_ms(agree);
  out->set_save_ms(save);
  out->set_release_ms(release);
  out->set_start_ms(Between(attempt.started_at, attempt.running_at));
}

void AttemptToProto(const Snapshot& snapshot, const core::Attempt& attempt, TimePoint now, v1::Attempt* out) {
  RefToProto(attempt.id, out->mutable_ref());
  out->set_state(core::ToString(attempt.state));
  out->set_outcome(core::ToString(attempt.outcome));
  out->set_save(core::ToString(attempt.save));
  out->set_message(attempt.message);
  for (std::uint32_t i = 0; i < attempt.nodes.size(); ++i) TaskToProto(snapshot, attempt, i, out->add_tasks());
  out->set_claimed_at_ms(attempt.claimed_at.ms);
  out->set_started_at_ms(attempt.started_at.ms);
  out->set_running_at_ms(attempt.running_at.ms);
  out->set_ended_at_ms(attempt.ended_at.ms);
  out->set_base_step(attempt.base.step);
  out->set_last_step(attempt.last_step);
  out->set_durable_step(attempt.durable_step);
  out->set_steps_lost(attempt.steps_lost);
  for (const core::Agreement& agreement : attempt.agreements)
    AgreementToProto(attempt, agreement, now, out->add_agreements());
  StartTimesToProto(snapshot, attempt, out->mutable_start());
  for (const auto& zone : attempt.zones) out->add_zones(zone);
  out->set_borrowed(attempt.borrowed);
  out->set_failed_rank(attempt.failed_rank);
  out->set_stalled_since_ms(attempt.stalled_since.ms);
  out->set_evidence(attempt.evidence);
  out->set_gpus_idle_since_ms(attempt.gpus_idle_since.ms);
  if (const core::SaveFailure& failure = attempt.save_failure; failure.count > 0) {
    out->mutable_save_failure()->set_step(failure.step);
    out->mutable_save_failure()->set_why(failure.why);
    out->mutable_save_failure()->set_count(failure.count);
  }
}

namespace {

void AttemptsToProto(const Snapshot& snapshot, const core::Job& job, AttemptsShown shown, TimePoint now, v1::Job* out) {
  const std::uint32_t first = shown == AttemptsShown::kAll ? 1 : std::max(1u, job.attempts);
  snapshot.tables.attempts.VisitFrom({job.id, first}, [&](core::AttemptId id, const core::Attempt& attempt) {
    if (id.job != job.id) return false;
    AttemptToProto(snapshot, attempt, now, out->add_attempts());
    if (shown != AttemptsShown::kAll) out->mutable_attempts()->rbegin()->clear_evidence();
    return true;
  });
  // A gang of a thousand nodes that was interrupted fifty times: the oldest attempts lose their task lists first.
  std::size_t bytes = out->ByteSizeLong();
  for (auto& attempt : *out->mutable_attempts()) {
    if (bytes <= kReplyBytesMax) break;
    bytes -= std::min(bytes, attempt.ByteSizeLong());
    attempt.clear_tasks();
    bytes += attempt.ByteSizeLong();
  }
}

}  // namespace

void JobToProto(const Snapshot& snapshot, const core::Job& job, AttemptsShown shown, TimePoint now, v1::Job* out) {
  out->set_id(job.id.value);
  out->set_user(job.user);
  out->set_team(job.team);
  out->set_state(core::ToString(job.state));
  wire::SpecToProto(*job.spec, out->mutable_spec());
  out->set_submitted_at_ms(job.submitted_at.ms);
  out->set_ended_at_ms(job.ended_at.ms);
  out->set_message(job.message);
  out->set_interrupts(job.interrupts);
  out->set_steps_lost(job.steps_lost);
  out->set_durable_step(job.durable.step);
  out->set_durable_path(job.durable.path);
  out->set_attempt_count(job.attempts);
  out->set_priority(core::ToString(job.priority));
  if (job.validates) out->set_validates(job.spec->placement.node);  // the node may be gone
  for (const core::Blocker& blocker : BlockersOf(snapshot, job, now)) {
    BlockerToProto(blocker, out->add_blockers());
  }
  out->set_saves(core::SavesInWords(snapshot.tables, job));
  out->set_saves_kept_until_ms(core::SavesKeptUntil(*snapshot.policy, job).ms);
  out->set_asked_by(core::AskedInWords(*snapshot.policy, job));
  out->set_protection(core::ProtectionInWords(*snapshot.policy, job));
  for (const auto* nodes : {&job.durable.parts, &job.durable.copies}) {
    for (const core::NodeId id : *nodes) {
      if (const core::Node* node = snapshot.tables.nodes.Find(id)) out->add_durable_nodes(node->name);
    }
  }
  AttemptsToProto(snapshot, job, shown, now, out);
  if (shown == AttemptsShown::kAll) UsesToProto(UsesOf(snapshot.tables, job, now), out->mutable_uses());
}

namespace {

void LabelsToProto(const core::NodeLabels& labels, v1::NodeLabels* out) {
  out->set_pool(labels.pool);
  out->set_zone(labels.zone);
  out->set_leaf(labels.leaf);
  out->set_gpu_type(labels.gpu_type);
  out->set_gpu_count(labels.gpu_count);
  out->set_nvlink(core::ToString(labels.nvlink));
  out->set_nic(labels.nic);
  out->set_simulated_gpus(labels.simulated_gpus);
}

}  // namespace

namespace {

void CordonToProto(const core::Cordon& cordon, v1::Cordon* out) {
  out->set_by(cordon.by);
  out->set_reason(cordon.reason);
  out->set_since_ms(cordon.since.ms);
  out->set_until_ms(cordon.until.ms);
  out->set_drain(cordon.drain);
  out->set_deadline_ms(cordon.deadline.ms);
  out->set_drained(cordon.drained);
}

}  // namespace

void NodeToProto(const Snapshot& snapshot, const core::Node& node, NodeShown shown, v1::Node* out) {
  out->set_name(node.name);
  LabelsToProto(node.labels, out->mutable_labels());
  // Fewer GPUs are a fault, which the message tells: they never become its labels.
  if (node.relabelled && core::MissingGpus(node).empty()) LabelsToProto(node.next_labels, out->mutable_next_labels());
  out->set_state(core::ToString(node.state));
  out->set_message(NodeNote(node));
  if (node.cordon) CordonToProto(*node.cordon, out->mutable_cordon());
  for (std::string& words : ReservedWords(snapshot, node.id)) out->add_reserved(std::move(words));
  if (node.holder) RefToProto(node.holder, out->mutable_holder());
  if (node.claim) RefToProto(node.claim, out->mutable_claim());
  out->set_address(node.address);
  if (const auto it = snapshot.liveness->find(node.id); it != snapshot.liveness->end()) {
    out->set_last_heard_ms(it->second.last_heard.ms);
    const bool told = shown == NodeShown::kWhole && it->second.inventory;
    if (told) InventoryToProto(*it->second.inventory, out->mutable_inventory());
  }
  for (const core::AttemptId id : node.orphans) RefToProto(id, out->add_orphans());
  for (const core::AttemptId id : node.unproven) RefToProto(id, out->add_unproven());
  out->set_agent_version(node.agent_version);
  out->set_runtime(node.runtime);
  out->set_census(node.census);
  out->set_checkpoint_root_error(node.root_error);
  out->set_fault(node.fault);
  out->set_suspect_until_ms(node.suspect_until.ms);
  if (node.suspect_until) out->set_suspect_why(node.suspect_why);
  for (const std::string& folder : node.allowed_folders) out->add_allowed_folders(folder);
  if (node.only_uid) out->set_only_uid(*node.only_uid);
  out->set_needs_uid(node.needs_uid);
  for (const std::string& socket : node.exposed_sockets) out->add_exposed_sockets(socket);
  out->set_hardware_differs(node.hardware_differs);
  out->set_lemon(node.lemon);
  HealthConditionsToProto(node, out);
  ValidationToProto(node, out);
  if (shown == NodeShown::kWhole) HealthEventsToProto(node, out);
  if (shown == NodeShown::kWhole) FailuresToProto(node, out);
}

}  // namespace glim::server
