#include "scheduler/server/clients/event_stream.h"

#include <algorithm>
#include <utility>

#include "scheduler/server/convert/event_convert.h"
#include "scheduler/server/convert/rpc_status.h"
#include "sdk/base/printable.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr std::size_t kEventsMax = 500;

}  // namespace

EventStream* EventStream::Open(EventFeed* feed, const v1::StreamEventsRequest& request, const Status& admitted) {
  std::shared_ptr<EventStream> stream(new EventStream(feed, request));
  stream->self_ = stream;
  HandOver(stream.get());
  feed->strand().Post([stream, admitted] {
    if (!admitted.ok()) return stream->Fail(admitted);
    if (stream->feed_->stopping()) return stream->End({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
    if (Status s = stream->Check(); !s.ok()) return stream->Fail(s);
    if (!stream->feed_->Open(stream)) {
      return stream->Fail(Status(StatusCode::kResourceExhausted, "too many are reading events")
                              .WithReason("OVERLOADED")
                              .WithFix("try again in a few seconds"));
    }
    stream->Next();
  });
  return stream.get();
}

Status EventStream::Check() {
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
      read = Page{std::move(entries).value(), *last};
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
  if (!told_any_ && whole && read->entries.empty() && query_.job && !snapshot_->tables.jobs.Find(query_.job)) {
    return Fail(
        Status(StatusCode::kNotFound, "no job " + std::to_string(query_.job.value) + ", or nothing of it is kept")
            .WithReason("NO_SUCH_JOB")
            .WithField("job_id")
            .WithFix("glim queue --all lists the jobs"));
  }
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

void EventStream::Add(const store::Store::StoredHistory& stored) {
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
  feed_->strand().Post([self = std::move(self_)] {});
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
