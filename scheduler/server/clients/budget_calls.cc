#include "scheduler/server/clients/budget_calls.h"

#include <optional>
#include <string>
#include <utility>

#include "scheduler/core/lifecycle/budgets.h"
#include "scheduler/core/model/budget_use.h"
#include "scheduler/server/convert/seen_state.h"
#include "sdk/base/gpu_time_text.h"

namespace glim::server {
namespace {

void BudgetToProto(const core::Tables& tables, const core::Budget& row, TimePoint now, v1::Budget* out) {
  out->set_team(row.id.team);
  out->set_gpu_ms_max(row.gpu_ms_max);
  out->set_used_gpu_ms(core::UsedGpuMs(tables, row, now));
  out->set_since_ms(row.since.ms);
  out->set_made_by(row.made_by);
  out->set_made_at_ms(row.made_at.ms);
}

// What an operator has said of it.
std::string SeenState(const core::Budget* row) {
  if (row == nullptr) return StateOf("none");
  return StateOf(std::to_string(row->gpu_ms_max) + "\n" + std::to_string(row->since.ms) + "\n" +
                 std::to_string(row->made_at.ms));
}

// For the audit trail.
std::string WordsOf(const core::Budget* row) { return row == nullptr ? "" : GpuTimeText(row->gpu_ms_max); }

core::SetBudget EventOf(const v1::SetBudgetRequest& request, const core::Budget* before, const std::string& by) {
  core::SetBudget event;
  event.team = request.team();
  if (!request.remove()) event.gpu_ms_max = request.gpu_ms_max();
  event.restart = request.restart();
  event.by = by;
  event.dry_run = request.dry_run();
  if (!request.expect().empty()) {
    event.expected = before == nullptr ? core::Seen<core::Budget>{} : core::Seen<core::Budget>{*before};
  }
  return event;
}

Status CheckRequest(const v1::SetBudgetRequest& request, const std::string& state) {
  if (request.remove() && (request.gpu_ms_max() != 0 || request.restart())) {
    return InvalidArgument("remove", "a budget is taken away and given at once", "send remove alone, or leave it out");
  }
  return CheckExpected(request.expect(), state, "the budget of team " + request.team());
}

}  // namespace

grpc::ServerUnaryReactor* ListBudgets(Door* door, SchedulerLoop* loop, grpc::CallbackServerContext* context,
                                      const v1::ListBudgetsRequest& request, v1::ListBudgetsResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/ListBudgets", request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop->snapshot();
  snapshot->tables.budgets.ForEach([&](const core::BudgetId&, const core::Budget& row) {
    BudgetToProto(snapshot->tables, row, loop->Now(), response->add_budgets());
  });
  call->Answer(Status::Ok(), response);
  return call;
}

grpc::ServerUnaryReactor* SetBudget(Door* door, SchedulerLoop* loop, grpc::CallbackServerContext* context,
                                    const v1::SetBudgetRequest& request, v1::SetBudgetResponse* response) {
  Call* const call = Call::Open(door, context, "AdminApi/SetBudget", request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop->snapshot();
  const core::Budget* const before = snapshot->tables.budgets.Find({request.team()});
  response->set_state(SeenState(before));
  if (Status fine = CheckRequest(request, response->state()); !fine.ok()) return call->Refuse(fine);
  if (before != nullptr) BudgetToProto(snapshot->tables, *before, loop->Now(), response->mutable_before());
  core::SetBudget event = EventOf(request, before, call->user());
  std::optional<core::Budget> after;
  if (event.gpu_ms_max) after = core::BudgetAfter(snapshot->tables, before, event, loop->Now());
  if (after) BudgetToProto(snapshot->tables, *after, loop->Now(), response->mutable_after());
  std::optional<AuditNote> note;  // a question changes nothing
  if (!event.dry_run) {
    note = call->Note("budget of team " + request.team(), WordsOf(before), WordsOf(after ? &*after : nullptr));
  }
  const Status posted = loop->Post(
      std::move(event), [call, response](const core::Reply& reply) { call->Answer(reply.status, response); },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

}  // namespace glim::server
