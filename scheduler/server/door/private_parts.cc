#include "scheduler/server/door/private_parts.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

namespace glim::server {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kOfJob[] = {
    "id",         "user",       "team",         "state",    "spec",     "submitted_at_ms", "ended_at_ms",
    "interrupts", "steps_lost", "durable_step", "attempts", "blockers", "attempt_count",   "priority",
    "uses",       "protection"};
constexpr std::string_view kOfSpec[] = {"name",          "pool",      "priority",      "nodes",
                                        "gpus_per_node", "placement", "time_limit_ms", "team"};
constexpr std::string_view kOfAttempt[] = {
    "ref",           "state",         "outcome",     "save",      "tasks",     "claimed_at_ms",
    "started_at_ms", "running_at_ms", "ended_at_ms", "base_step", "last_step", "durable_step",
    "steps_lost",    "agreements",    "start",       "zones",     "borrowed",  "failed_rank"};
constexpr std::string_view kOfAgreement[] = {
    "id",       "state",         "reason",    "preemptor", "preemptor_name", "preemptor_user", "requested_at_ms",
    "grace_ms", "grace_used_ms", "stop_step", "times",     "swap_aborted"};
constexpr std::string_view kOfTask[] = {"index", "node", "zone", "phase", "exit_code", "step", "simulated_gpus"};
constexpr std::string_view kOfBlocker[] = {"kind", "message", "have", "need", "job_ids"};
constexpr std::string_view kOfEnded[] = {"id",
                                         "name",
                                         "user",
                                         "team",
                                         "pool",
                                         "priority",
                                         "state",
                                         "nodes",
                                         "gpus_per_node",
                                         "simulated_gpus",
                                         "submitted_at_ms",
                                         "started_at_ms",
                                         "ended_at_ms",
                                         "attempts",
                                         "interrupts",
                                         "restarts",
                                         "steps_lost",
                                         "durable_step",
                                         "waited_ms",
                                         "gpu_ms",
                                         "productive_gpu_ms",
                                         "lost_gpu_ms"};
constexpr std::string_view kOfNode[] = {"name",
                                        "labels",
                                        "state",
                                        "message",
                                        "holder",
                                        "claim",
                                        "address",
                                        "last_heard_ms",
                                        "orphans",
                                        "agent_version",
                                        "runtime",
                                        "allowed_folders",
                                        "checkpoint_root_error",
                                        "census",
                                        "next_labels",
                                        "fault",
                                        "suspect_until_ms",
                                        "only_uid",
                                        "needs_uid",
                                        "cordon",
                                        "reserved",
                                        "health_conditions",
                                        "health_events",
                                        "inventory",
                                        "hardware_differs",
                                        "validation",
                                        "failures",
                                        "lemon"};
// Not the kernel's line, which names processes.
constexpr std::string_view kOfHealthEvent[] = {"check",    "device", "code",    "at_ms", "value",
                                               "expected", "unit",   "verdict", "job_id"};
constexpr std::string_view kOfUser[] = {"name", "teams", "admin_of"};

// What the planner says of amounts and names of jobs. The others' words may hold paths and what programs said.
constexpr std::string_view kBlockersInWords[] = {
    "nodes_busy", "quota",       "min_run",   "link_busy",        "backfill_hold", "claiming",
    "time_slice", "not_planned", "nodes_out", "pool_not_allowed", "reserved"};

bool IsIn(Names names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

void KeepOnly(Names names, google::protobuf::Message* message) {
  const auto* const reflection = message->GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const auto* const field : fields) {
    if (!IsIn(names, field->name())) reflection->ClearField(message, field);
  }
  reflection->MutableUnknownFields(message)->Clear();
}

}  // namespace

void RemovePrivateParts(v1::Job* job) {
  KeepOnly(kOfJob, job);
  if (job->has_spec()) KeepOnly(kOfSpec, job->mutable_spec());
  for (v1::Blocker& blocker : *job->mutable_blockers()) {
    KeepOnly(kOfBlocker, &blocker);
    if (!IsIn(kBlockersInWords, blocker.kind())) blocker.clear_message();
  }
  for (v1::Attempt& attempt : *job->mutable_attempts()) {
    KeepOnly(kOfAttempt, &attempt);
    for (v1::Agreement& agreement : *attempt.mutable_agreements()) KeepOnly(kOfAgreement, &agreement);
    for (v1::TaskInfo& task : *attempt.mutable_tasks()) KeepOnly(kOfTask, &task);
  }
}

void RemovePrivateParts(v1::EndedJob* job) { KeepOnly(kOfEnded, job); }

void RemovePrivateParts(v1::AccountUser* user) { KeepOnly(kOfUser, user); }

void RemovePrivateParts(v1::Node* node) {
  KeepOnly(kOfNode, node);
  for (v1::HealthEvent& event : *node->mutable_health_events()) KeepOnly(kOfHealthEvent, &event);
}

}  // namespace glim::server
