#include "scheduler/server/clients/advice.h"

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "scheduler/core/core.h"
#include "scheduler/core/model/save_reach.h"
#include "scheduler/server/convert/row_convert.h"

namespace glim::server {
namespace {

constexpr std::size_t kNodesNamedMax = 1000;

void StartToProto(const core::ClusterState& state, const core::Trial& trial, v1::PlannedStart* out) {
  const core::PlannedStart& start = *trial.start;
  out->set_priority(core::ToString(start.charged));
  out->set_borrowed(start.borrowed);
  out->set_node_count(static_cast<std::uint32_t>(start.nodes.size()));
  for (std::size_t i = 0; i < std::min(start.nodes.size(), kNodesNamedMax); ++i) {
    const core::Node& node = *state.FindNode(start.nodes[i]);
    auto* named = out->add_nodes();
    named->set_name(node.name);
    named->set_zone(node.labels.zone);
  }
  for (const core::VictimCost& victim : trial.victims) VictimToProto(state, victim, out->add_victims());
  for (const core::AttemptId displaced : start.displaced) out->add_displaced_job_ids(displaced.job.value);
  for (const core::JobId awaited : trial.awaited) out->add_awaited_job_ids(awaited.value);
  out->set_message(core::StartText(trial));
}

void OutlookToProto(const core::Explanation& explanation, v1::Outlook* out) {
  out->set_ahead_count(explanation.ahead_count);
  for (const core::JobId id : explanation.ahead) out->add_ahead_job_ids(id.value);
  out->set_promised_by_at_ms(explanation.promised_by.ms);
  out->mutable_estimate()->set_earliest_at_ms(explanation.estimate.earliest.ms);
  out->mutable_estimate()->set_latest_at_ms(explanation.estimate.latest.ms);
  out->mutable_estimate()->set_unknown(explanation.estimate.unknown);
}

}  // namespace

void VictimToProto(const core::ClusterState& state, const core::VictimCost& cost, v1::Victim* out) {
  const core::Job& job = *state.FindJob(cost.attempt.job);
  out->set_job_id(job.id.value);
  out->set_name(job.spec->name);
  out->set_user(job.user);
  out->set_priority(core::ToString(job.priority));
  out->set_preemption_cost_gpu_ms(cost.preemption_cost_gpu_ms);
  out->set_since_save_ms(cost.since_save.ms);
  out->set_steps_since_save(cost.steps_since_save);
}

v1::Victim VictimOf(const Snapshot& snapshot, const core::Attempt& attempt, TimePoint now) {
  core::Tables own;
  const auto copy = [](auto& to, const auto& from, auto id) {
    if (const auto* row = from.Find(id)) to.Put(id, std::make_shared<std::decay_t<decltype(*row)>>(*row));
  };
  copy(own.jobs, snapshot.tables.jobs, attempt.id.job);
  copy(own.attempts, snapshot.tables.attempts, attempt.id);
  for (const core::NodeId node : attempt.nodes) copy(own.nodes, snapshot.tables.nodes, node);
  const core::ClusterState state = core::ClusterState::Of(own);
  v1::Victim victim;
  VictimToProto(state, core::CostOfInterrupt(state, *snapshot.policy, attempt.id, now), &victim);
  return victim;
}

Status ExplainJob(const Snapshot& snapshot, const v1::ExplainJobRequest& request, TimePoint now,
                  v1::ExplainJobResponse* response) {
  const core::Job* job = snapshot.tables.jobs.Find(core::JobId(request.job_id()));
  if (!job) {
    return Status(StatusCode::kNotFound, "no job " + std::to_string(request.job_id()))
        .WithReason("NO_SUCH_JOB")
        .WithField("job_id")
        .WithFix("glim queue --all lists the jobs");
  }
  JobToProto(snapshot, *job, AttemptsShown::kAll, now, response->mutable_job());
  if (job->state != core::JobState::kQueued) return Status::Ok();
  core::WhatIf what_if(CopyOfState(snapshot), *snapshot.policy, now);
  const core::Explanation explanation = what_if.Explain(job->id);
  OutlookToProto(explanation, response->mutable_outlook());
  for (const core::Counterfactual& counterfactual : explanation.counterfactuals) {
    auto* out = response->add_counterfactuals();
    out->set_change(core::WordOf(counterfactual.change));
    out->set_value(counterfactual.value);
    out->set_message(counterfactual.message);
    StartToProto(what_if.state(), counterfactual.trial, out->mutable_start());
  }
  return Status::Ok();
}

Status PlanJobs(const Snapshot& snapshot, const core::SubmitJobs& event, TimePoint now, v1::PlanJobResponse* response) {
  core::ClusterState state = CopyOfState(snapshot);
  core::SubmitJobs check = event;
  check.validate_only = true;
  const core::Event event_of_check{0, now, std::move(check)};
  if (Status s = core::Apply(state, *snapshot.policy, event_of_check).reply.status; !s.ok()) return s;
  core::WhatIf what_if(std::move(state), *snapshot.policy, now);
  const auto planned = what_if.Plan(event.user, event.team, event.specs);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    auto* out = response->add_jobs();
    out->set_name(event.specs[i].name);
    out->set_saves(core::SavesInWords(event.specs[i], snapshot.policy->checkpoint_root));
    if (planned[i].trial.start) {
      StartToProto(what_if.state(), planned[i].trial, out->mutable_start());
      continue;
    }
    for (const core::Blocker& blocker : planned[i].trial.blockers) BlockerToProto(blocker, out->add_blockers());
    OutlookToProto(planned[i].explanation, out->mutable_outlook());
  }
  return Status::Ok();
}

}  // namespace glim::server
