#include "cli/testing/fake_operate.h"

#include <algorithm>

namespace glim::cli {

using grpc::ServerContext;
using grpc::Status;
using namespace glim::v1;  // NOLINT(build/namespaces): a test double made of little else

namespace {

void TakeOut(const std::string& name, const std::string& reason, bool drain, Node* node) {
  node->set_name(name);
  node->set_state("ready");
  node->mutable_cordon()->set_by("ora");
  node->mutable_cordon()->set_reason(reason);
  node->mutable_cordon()->set_drain(drain);
}

}  // namespace

Status FakeOperateCalls::CordonNode(ServerContext* context, const CordonNodeRequest* request,
                                    CordonNodeResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->cordons.push_back(*request);
  TakeOut(request->node(), request->reason(), false, response->mutable_node());
  for (const Victim& victim : state->on_node) *response->add_jobs() = victim;
  return Status::OK;
}

Status FakeOperateCalls::DrainNode(ServerContext* context, const DrainNodeRequest* request,
                                   DrainNodeResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->drains.push_back(*request);
  TakeOut(request->node(), request->reason(), true, response->mutable_node());
  for (const Victim& victim : state->on_node) *response->add_jobs() = victim;
  return Status::OK;
}

Status FakeOperateCalls::UncordonNode(ServerContext* context, const UncordonNodeRequest* request,
                                      UncordonNodeResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->uncordons.push_back(*request);
  response->mutable_node()->set_name(request->node());
  response->mutable_node()->set_state("ready");
  return Status::OK;
}

Status FakeOperateCalls::ValidateNode(ServerContext* context, const ValidateNodeRequest* request,
                                      ValidateNodeResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->validations.push_back(*request);
  for (const Victim& victim : state->on_node) *response->add_jobs() = victim;
  for (Node& node : state->nodes) {
    if (node.name() != request->node() || request->dry_run()) continue;
    *node.mutable_validation() = state->measured;
    if (!state->measured.bad().empty()) TakeOut(node.name(), state->measured.bad(), false, &node);
    *response->mutable_node() = node;
  }
  return Status::OK;
}

Status FakeOperateCalls::SetJobPriority(ServerContext* context, const SetJobPriorityRequest* request,
                                        SetJobPriorityResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->priorities.push_back(*request);
  response->set_before("normal");
  response->set_after(request->priority());
  return Status::OK;
}

Status FakeOperateCalls::UpdateJob(ServerContext* context, const UpdateJobRequest* request,
                                   UpdateJobResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->updates.push_back(*request);
  if (request->has_time_limit_ms()) response->add_changes("limits.time 2h -> 4h");
  return Status::OK;
}

Status FakeOperateCalls::MoveJob(ServerContext* context, const MoveJobRequest* request, MoveJobResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->moves.push_back(*request);
  response->set_state("interrupting");
  if (!state->on_node.empty()) *response->mutable_cost() = state->on_node.front();
  return Status::OK;
}

Status FakeOperateCalls::WeighJobs(ServerContext* context, const WeighJobsRequest* request,
                                   WeighJobsResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  for (const JobAtRisk& risk : state->at_risk) {
    const auto& asked = request->job_ids();
    if (std::find(asked.begin(), asked.end(), risk.job_id()) != asked.end()) *response->add_jobs() = risk;
  }
  return Status::OK;
}

Status FakeOperateCalls::CancelUserJobs(ServerContext* context, const CancelUserJobsRequest* request,
                                        CancelUserJobsResponse* response) {
  const FakeHandle state = owner_->Lock();
  if (Status status = Enter(*context, state.state); !status.ok()) return status;
  state->user_cancels.push_back(*request);
  for (const auto& [id, job] : state->jobs) {
    if (job.user() == request->user()) response->add_job_ids(id);
  }
  response->set_count(static_cast<std::uint32_t>(response->job_ids_size()));
  return Status::OK;
}

}  // namespace glim::cli
