#include "scheduler/server/clients/event_stream.h"

#include <algorithm>
#include <utility>

#include "scheduler/server/convert/event_convert.h"
#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/server/door/forgotten_job.h"
#include "sdk/base/printable.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr std::size_t kEventsMax = 500;
constexpr std::size_t kForgottenMax = 100'000;

}  // namespace

EventStream* EventStream::Open(const Owner* owner, grpc::CallbackServerContext* context,
                               const v1::StreamEventsRequest& request, Result<StreamEntry> entry) {
  std::shared_ptr<EventStream> stream(new EventStream(owner, context, request));
  stream->self_ = stream;
  const Status admitted = entry.status();
  if (admitted.ok()) stream->entry_ = std::move(entry).value();
  HandOver(stream.get());
  owner->feed->strand().Post([stream, admitted] {
    if (!admitted.ok()) return stream->Fail(admitted);
    if (stream->feed_->stopping()) return stream->End({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
    if (Status s = stream->Check(); !s.ok()) return stream->Fail(s);
    stream->feed_->Open(stream);
    stream->owner_->watch->Watch(stream, stream->entry_.caller, stream->entry_.row, stream->entry_.job);
    stream->Next();
  });
  return stream.get();
}

Status EventStream::Check() {
  if (entry_.caller.IsJob() && request_.job_id() == 0) {
    return InvalidArgument("job_id", "is missing", "a job's own token reads of that job and of those it submitted");
  }
  if (request_.max_age_ms() < 0) return InvalidArgument("max_age_ms", "is negative", "use 0 for all that are kept");
  query_.job = core::JobId(request_.job_id());
  query_.after = request_.after();
  if (request_.max_age_ms() > 0) query_.since = feed_->loop().Now() - Duration{request_.max_age_ms()};
  query_.limit = kEventsMax;
  if (request_.node().empty()) return Status::Ok();
  const SnapshotPtr snapshot = feed_->loop().snapshot();
  if (const core::NodeId* id = snapshot->tables.node_ids.Find(request_.node())) {
    query_.node = *id;
    return Status::Ok();
  }
  return Status(StatusCode::kNotFound, "no node " + Printable(request_.node()))
      .WithReason("NO_SUCH_NODE")
      .WithField("node")
      .WithFix("glim nodes lists the nodes");
}

void EventStream::Next() {
  if (ended_ || reading_ || writing_) return;
  if (caught_up_ && query_.after < feed_->floor()) caught_up_ = false;  // it was too slow
  if (!caught_up_) return ReadStore();
  TakeRecent();
}

void EventStream::ReadStore() {
  reading_ = true;
  const Status posted = feed_->loop().Read([self = shared_from_this(), query = query_](store::Store& store) {
    Result<Page> read = Page{};
    auto entries = store.History(query);
    auto last = store.LastHistory();
    if (!entries.ok() || !last.ok()) {
      read = entries.ok() ? last.status() : entries.status();
    } else {
      const bool theirs = query.job && MaySeeForgotten(self->entry_.caller, query.job, store);
      read = Page{std::move(entries).value(), *last, theirs};
    }
    self->feed_->strand().Post([self, read = std::move(read)]() mutable { self->TakePage(std::move(read)); });
  });
  if (posted.ok()) return;
  reading_ = false;
  Fail(posted);
}

void EventStream::TakePage(Result<Page> read) {
  reading_ = false;
  if (ended_) return;
  if (!read.ok()) return Fail(read.status());
  const bool whole = read->entries.size() < kEventsMax;
  snapshot_ = feed_->loop().snapshot();
  const bool forgotten = query_.job && !snapshot_->tables.jobs.Find(query_.job);
  if (forgotten && !read->entries.empty() && !read->theirs) {
    const Status denied = NotYours(query_.job, entry_.caller);
    owner_->door->Denied(NoteOf(entry_.caller, *entry_.row, "job " + std::to_string(query_.job.value)), denied);
    return Fail(denied);
  }
  if (!told_any_ && whole && read->entries.empty() && forgotten) {
    return Fail(
        Status(StatusCode::kNotFound, "no job " + std::to_string(query_.job.value) + ", or nothing of it is kept")
            .WithReason("NO_SUCH_JOB")
            .WithField("job_id")
            .WithFix("glim queue --all lists the jobs"));
  }
  if (read->theirs) own_forgotten_.insert(query_.job);
  for (const auto& stored : read->entries) Add(stored);
  if (!read->entries.empty()) query_.after = read->entries.back().seq;
  if (whole) {
    query_.after = std::max(query_.after, read->last);
    query_.since = {};
    caught_up_ = request_.follow();
    last_page_ = !request_.follow();
  }
  const bool wrote = Write();
  if (caught_up_) feed_->Follow(shared_from_this(), query_.after);
  if (wrote) return;
  if (last_page_) return End(grpc::Status::OK);
  Next();
}

void EventStream::TakeRecent() {
  const auto& recent = feed_->recent();
  auto at = std::upper_bound(recent.begin(), recent.end(), query_.after,
                             [](std::uint64_t after, const auto& stored) { return after < stored.seq; });
  snapshot_ = feed_->loop().snapshot();
  for (; at != recent.end() && out_.events_size() < static_cast<int>(kEventsMax); ++at) {
    if (Wanted(at->entry)) Add(*at);
    query_.after = at->seq;
  }
  Write();
}

bool EventStream::Wanted(const core::HistoryEntry& entry) const {
  return (!query_.job || entry.job == query_.job) && (!query_.node || entry.node == query_.node);
}

// Those of the cluster and its nodes are everybody's; a user's account is an operator's affair. Whose a job without a
// row was, its first event tells.
bool EventStream::MaySee(const core::HistoryEntry& entry) {
  const Caller& caller = entry_.caller;
  if (caller.IsOperator()) return true;
  if (!entry.job) return entry.kind != core::HistoryKind::kUserChanged;
  if (const core::Job* const job = snapshot_->tables.jobs.Find(entry.job)) return HasRight(caller, *job);
  const bool submitted = entry.kind == core::HistoryKind::kJobSubmitted && !entry.facts.user.empty();
  if (submitted && HasRight(caller, entry.facts.user, entry.facts.team) && own_forgotten_.size() < kForgottenMax) {
    own_forgotten_.insert(entry.job);
  }
  return own_forgotten_.contains(entry.job);
}

void EventStream::Add(const store::Store::StoredHistory& stored) {
  if (!MaySee(stored.entry)) return;
  told_any_ = true;
  EventToProto(*snapshot_, stored, out_.add_events());
}

bool EventStream::Write() {
  snapshot_ = nullptr;
  if (out_.events().empty() && (greeted_ || !caught_up_)) return false;
  greeted_ = true;
  out_.set_next_after(query_.after);
  writing_ = true;
  StartWrite(&out_);
  return true;
}

void EventStream::Fail(const Status& status) { End(ToGrpc(status)); }

void EventStream::OnWriteDone(bool ok) {
  TakeOver(this);
  feed_->strand().Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (self->ended_) return self->Finish(self->end_);
    if (!ok) return self->End(grpc::Status::CANCELLED);
    self->out_.Clear();
    if (self->last_page_) return self->End(grpc::Status::OK);
    self->Next();
  });
}

void EventStream::OnCancel() {
  TakeOver(this);
  feed_->strand().Post([self = shared_from_this()] { self->End(grpc::Status::CANCELLED); });
}

void EventStream::OnDone() {
  TakeOver(this);
  entry_.admission.Release();
  feed_->strand().Post([self = std::move(self_)] { self->owner_->watch->Forget(self.get()); });
}

// With a write in flight the call is finished when that is done: soon, for its client has gone or is about to.
void EventStream::End(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  end_ = status;
  feed_->Close(shared_from_this());
  if (!writing_) Finish(status);
}

}  // namespace glim::server
