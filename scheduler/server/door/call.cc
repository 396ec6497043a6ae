#include "scheduler/server/door/call.h"

#include <utility>

#include "scheduler/server/convert/rpc_status.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

// What any change leaves behind beside its own words: entries of the history, a row of the audit trail.
constexpr std::uint64_t kChangeBytes = 1024;

}  // namespace

Call* Call::Open(Door* door, grpc::CallbackServerContext* context, Method method,
                 const google::protobuf::Message& request, CallerLimits::Amounts more) {
  auto* const call = new Call(door, method);
  more.emplace_back(Bound::kCalls, 1);
  const std::size_t bytes = request.ByteSizeLong();
  more.emplace_back(Bound::kBytes, bytes);
  if (method->audited) more.emplace_back(Bound::kChanges, kChangeBytes + bytes);
  auto entered = door->Enter(*context, method, request, more);
  if (!entered.ok()) return call->Refuse(entered.status());
  Door::Entry entry = std::move(entered).value();
  call->caller_ = std::move(entry.caller);
  call->admission_ = std::move(entry.admission);
  call->by_right_ = entry.by_right;
  call->job_ = entry.job;
  if (!entry.denied.ok()) return call->Refuse(entry.denied);
  call->admitted_ = true;
  return call;
}

AuditNote Call::Note(std::string object, std::string before, std::string after) const {
  AuditNote note = NoteOf(caller_, *method_, std::move(object));
  note.before = std::move(before);
  note.after = std::move(after);
  // Between the door and the strand a right may be taken away.
  note.still_allowed = [door = door_, caller = caller_, row = &*method_, job = job_] {
    return door->MayStill(caller, *row, job);
  };
  return note;
}

void Call::Answer(const Status& status, const google::protobuf::Message* response) {
  admission_.Release(Bound::kReads);
  if (response != nullptr && status.ok()) admission_.Hold(Bound::kBytes, response->ByteSizeLong());
  answered_ = status.code();
  HandOver(this);
  Finish(ToGrpc(status));
}

Call* Call::Deny(const Status& status, std::string object) {
  door_->Denied(Note(std::move(object)), status);
  return Refuse(status);
}

void Call::OnDone() {
  TakeOver(this);
  if (CallObserver* const observer = door_->observer()) {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began_;
    observer->OnCallDone(*method_, took.count(), answered_);
    HandOver(observer);
  }
  delete this;
}

Result<StreamEntry> AdmitStream(Door* door, const grpc::CallbackServerContext& context, Method method,
                                const google::protobuf::Message& request) {
  auto entered = door->Enter(context, method, request, {{Bound::kStreams, 1}});
  if (!entered.ok()) return entered.status();
  Door::Entry entry = std::move(entered).value();
  if (!entry.denied.ok()) return entry.denied;
  return StreamEntry{std::move(entry.caller), std::move(entry.admission), &*method, entry.job};
}

}  // namespace glim::server
