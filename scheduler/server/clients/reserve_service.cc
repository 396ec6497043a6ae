#include "scheduler/server/clients/reserve_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/advice/reserve_trial.h"
#include "scheduler/core/lifecycle/reservations.h"
#include "scheduler/server/clients/advice.h"
#include "scheduler/server/convert/reservation_convert.h"
#include "scheduler/server/convert/seen_state.h"

namespace glim::server {
namespace {

constexpr std::size_t kOthersSaidMax = 1000;

// For the audit trail.
std::string WordsOfReservation(const core::Reservation* row) {
  return row == nullptr ? "" : core::ReservedWhat(*row) + " " + core::ReservedInWords(*row);
}

// What an operator has said of it.
std::string SeenState(const core::Reservation* row) {
  if (row == nullptr) return StateOf("none");
  std::string words = row->team + "\n" + row->pool + "\n" + std::to_string(row->share) + "\n" + row->reason;
  for (const std::string& name : row->node_names) words += "\n" + name;
  for (const TimePoint at : {row->begins_at, row->ends_at, row->made_at}) words += "\n" + std::to_string(at.ms);
  return StateOf(words);
}

std::optional<core::Seen<core::Reservation>> ExpectedOf(const std::string& expect, const core::Reservation* row) {
  if (expect.empty()) return std::nullopt;
  return row == nullptr ? core::Seen<core::Reservation>{} : core::Seen<core::Reservation>{*row};
}

void AddOthersOn(const Snapshot& snapshot, const core::Reservation& row, TimePoint now,
                 v1::SetReservationResponse* response) {
  const std::vector<core::AttemptId> others = core::OthersOn(CopyOfState(snapshot), *snapshot.policy, row, now);
  for (std::size_t i = 0; i < others.size() && i < kOthersSaidMax; ++i) {
    *response->add_jobs() = VictimOf(snapshot, *snapshot.tables.attempts.Find(others[i]), now);
  }
}

}  // namespace

ReserveService::ReserveService(SchedulerLoop* loop, Adviser* adviser, Door* door)
    : loop_(loop), adviser_(adviser), door_(door) {}

ReserveService::~ReserveService() = default;

grpc::ServerUnaryReactor* ReserveService::SetReservation(grpc::CallbackServerContext* context,
                                                         const v1::SetReservationRequest* request,
                                                         v1::SetReservationResponse* response) {
  Call* const call = Call::Open(door_, context, "ReserveApi/SetReservation", *request);
  if (!call->admitted()) return call;
  core::SetReservation event{ReservationOf(request->reservation()), call->user(), request->dry_run()};
  Adviser::Task task;
  task.work = [this, event, response] {
    const SnapshotPtr snapshot = loop_->snapshot();
    const core::Reservation* const before = snapshot->tables.reservations.Find(event.reservation.name);
    AddOthersOn(*snapshot, core::ReservationAfter(before, event, loop_->Now()), loop_->Now(), response);
    return Status::Ok();
  };
  task.done = [this, call, event, expect = request->expect(), response](const Status& tried) {
    if (tried.ok()) {
      Set(call, event, expect, response);
    } else {
      call->Answer(tried, response);
    }
  };
  const Status taken = adviser_->Post(call->caller().user, call->caller().peer, std::move(task));
  return taken.ok() ? call : call->Refuse(taken);
}

void ReserveService::Set(Call* call, core::SetReservation event, const std::string& expect,
                         v1::SetReservationResponse* response) {
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::Reservation* const before = snapshot->tables.reservations.Find(event.reservation.name);
  response->set_state(SeenState(before));
  const Status seen = CheckExpected(expect, response->state(), "reservation " + event.reservation.name);
  if (!seen.ok()) return call->Answer(seen, response);
  event.expected = ExpectedOf(expect, before);
  const core::Reservation after = core::ReservationAfter(before, event, loop_->Now());
  if (before != nullptr) ReservationToProto(*snapshot, *before, response->mutable_before());
  std::optional<AuditNote> note;  // a question changes nothing
  if (!event.dry_run) {
    const std::string name = "reservation " + event.reservation.name;
    note = call->Note(name, WordsOfReservation(before), WordsOfReservation(&after));
  }
  const auto on_reply = [this, call, event, after, response](const core::Reply& reply) {
    const SnapshotPtr now = loop_->snapshot();
    const core::Reservation* const made = event.dry_run ? nullptr : now->tables.reservations.Find(after.name);
    ReservationToProto(*now, made == nullptr ? after : *made, response->mutable_after());
    call->Answer(reply.status, response);
  };
  const Status posted = loop_->Post(event, on_reply, std::move(note));
  if (!posted.ok()) call->Answer(posted, response);
}

grpc::ServerUnaryReactor* ReserveService::RemoveReservation(grpc::CallbackServerContext* context,
                                                            const v1::RemoveReservationRequest* request,
                                                            v1::RemoveReservationResponse* response) {
  Call* const call = Call::Open(door_, context, "ReserveApi/RemoveReservation", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  const core::Reservation* const before = snapshot->tables.reservations.Find(request->name());
  response->set_state(SeenState(before));
  const Status seen = CheckExpected(request->expect(), response->state(), "reservation " + request->name());
  if (!seen.ok()) return call->Refuse(seen);
  if (before != nullptr) ReservationToProto(*snapshot, *before, response->mutable_before());
  std::optional<AuditNote> note;
  if (!request->dry_run()) note = call->Note("reservation " + request->name(), WordsOfReservation(before), "");
  core::RemoveReservation event{request->name(), call->user(), request->dry_run()};
  event.expected = ExpectedOf(request->expect(), before);
  const Status posted = loop_->Post(
      std::move(event), [call, response](const core::Reply& reply) { call->Answer(reply.status, response); },
      std::move(note));
  return posted.ok() ? call : call->Refuse(posted);
}

grpc::ServerUnaryReactor* ReserveService::ListReservations(grpc::CallbackServerContext* context,
                                                           const v1::ListReservationsRequest* request,
                                                           v1::ListReservationsResponse* response) {
  Call* const call = Call::Open(door_, context, "ReserveApi/ListReservations", *request);
  if (!call->admitted()) return call;
  const SnapshotPtr snapshot = loop_->snapshot();
  std::vector<const core::Reservation*> rows;
  snapshot->tables.reservations.ForEach(
      [&](const std::string&, const core::Reservation& row) { rows.push_back(&row); });
  std::sort(rows.begin(), rows.end(), [](const core::Reservation* a, const core::Reservation* b) {
    return std::tie(a->begins_at, a->name) < std::tie(b->begins_at, b->name);
  });
  for (const core::Reservation* const row : rows) ReservationToProto(*snapshot, *row, response->add_reservations());
  call->Answer(Status::Ok(), response);
  return call;
}

}  // namespace glim::server
