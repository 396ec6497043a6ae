#include "scheduler/server/clients/log_stream.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "scheduler/server/clients/log_source.h"
#include "scheduler/server/convert/rpc_status.h"
#include "scheduler/server/door/forgotten_job.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr std::uint32_t kChunkBytesMax = 256 * 1024;
constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr std::int64_t kFollowWaitMs = 10'000;
constexpr auto kRetryEvery = std::chrono::milliseconds(200);
constexpr int kRetriesBeforeKept = 25;  // five seconds
constexpr int kRetriesMax = 300;        // a minute of an agent that is away

}  // namespace

LogStream* LogStream::Open(const Owner* owner, grpc::CallbackServerContext* context,
                           const v1::StreamLogRequest& request, Result<StreamEntry> entry) {
  std::shared_ptr<LogStream> stream(new LogStream(owner, context, request));
  stream->self_ = stream;
  const Status admitted = entry.status();
  if (admitted.ok()) stream->entry_ = std::move(entry).value();
  HandOver(stream.get());
  owner->strand->Post([stream, admitted] {
    if (!admitted.ok()) return stream->End(ToGrpc(admitted));
    if (stream->request_.bytes_max() < 0) {
      return stream->End(ToGrpc(InvalidArgument("bytes_max", "is negative", "use 0 for all")));
    }
    stream->owner_->watch->Watch(stream, stream->entry_.caller, stream->entry_.row, stream->entry_.job);
    stream->FetchNext();
  });
  return stream.get();
}

LogStream::LogStream(const Owner* owner, grpc::CallbackServerContext* context, const v1::StreamLogRequest& request)
    : owner_(owner),
      context_(context),
      request_(request),
      timer_(owner->strand->io()),
      offset_(request.offset()),
      left_(request.bytes_max() == 0 ? std::numeric_limits<std::int64_t>::max() : request.bytes_max()),
      attempt_(request.attempt()) {}

void LogStream::FetchNext() {
  if (ended_) return;
  if (owner_->broker->stopping()) return End({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
  auto source =
      FindLogSource(owner_->loop->snapshot()->tables, core::JobId(request_.job_id()), attempt_, request_.rank());
  if (!source.ok()) {
    if (request_.follow() && source.status().reason() == "NO_LOG_YET") return Retry(source.status());
    const bool forgotten = source.status().reason() == "NO_SUCH_JOB" || source.status().reason() == "ATTEMPT_TOO_OLD";
    return forgotten ? ReadKept(source.status()) : End(ToGrpc(source.status()));
  }
  source_ = {source->NodeOf(request_.rank()), source->attempt, source->live};
  attempt_ = source_.attempt.number;
  v1::LogRequest ask;
  ask.mutable_attempt()->set_job_id(source_.attempt.job.value);
  ask.mutable_attempt()->set_number(source_.attempt.number);
  ask.set_rank(request_.rank());
  ask.set_offset(offset_);
  ask.set_bytes_max(static_cast<std::uint32_t>(std::min<std::int64_t>(kChunkBytesMax, left_)));
  ask.set_wait_ms(request_.follow() ? kFollowWaitMs : 0);
  owner_->broker->Fetch(source_.node, entry_.caller.user, std::move(ask),
                        [self = shared_from_this()](Result<v1::LogChunk> result) { self->Fetched(std::move(result)); });
}

void LogStream::Fetched(Result<v1::LogChunk> result) {
  if (ended_) return;
  if (!result.ok()) {
    // Who follows gives a node that has just gone a moment to come back: it has all of the log.
    const bool wait = source_.live || (request_.follow() && retries_ < kRetriesBeforeKept);
    return wait || owner_->broker->stopping() ? Retry(result.status()) : ReadKept(result.status());
  }
  v1::LogChunk chunk = std::move(result).value();
  if (!chunk.error().empty()) {
    // The agent may not have begun with the task yet.
    const Status status = Status(StatusCode::kNotFound, chunk.error().substr(0, 1024)).WithReason("NO_LOG");
    return source_.live ? Retry(status) : ReadKept(status);
  }
  if (!chunk.data().empty() &&
      (chunk.offset() < std::max<std::int64_t>(0, offset_) || chunk.data().size() > kAnswerBytesMax)) {
    return End({grpc::StatusCode::DATA_LOSS, "the node's agent answered with another part of the log"});
  }
  retries_ = 0;
  const auto size = static_cast<std::int64_t>(chunk.data().size());
  offset_ = chunk.offset() + size;
  left_ -= std::min(left_, size);
  last_write_ = chunk.ended() || left_ == 0 || (size == 0 && !request_.follow());
  if (size == 0 && std::exchange(told_, true)) return last_write_ ? End(grpc::Status::OK) : FetchNext();
  told_ = true;
  out_.set_log_begin(chunk.log_begin());
  out_.set_log_end(chunk.log_end());
  out_.set_offset(chunk.offset());
  out_.set_attempt(attempt_);
  out_.set_data(std::move(*chunk.mutable_data()));
  writing_ = true;
  StartWrite(&out_);
}

void LogStream::Retry(const Status& status) {
  const bool waiting_for_start = status.reason() == "NO_LOG_YET";
  if (!request_.follow() || (!waiting_for_start && ++retries_ > kRetriesMax)) return End(ToGrpc(status));
  timer_.expires_after(kRetryEvery);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->FetchNext();
  });
}

// `instead`: what is said where nothing was kept.
void LogStream::ReadKept(const Status& instead) {
  const bool has_row = owner_->loop->snapshot()->tables.jobs.Find(entry_.job) != nullptr;  // then the door has looked
  const Status asked = owner_->loop->Read([self = shared_from_this(), has_row, instead](store::Store& store) {
    const bool theirs = has_row || MaySeeForgotten(self->entry_.caller, self->entry_.job, store);
    auto kept = store.FindLogTail(self->entry_.job, self->attempt_, self->request_.rank());
    self->owner_->strand->Post([self, kept = std::move(kept), theirs, instead]() mutable {
      self->TakeKept(std::move(kept), theirs, instead);
    });
  });
  if (!asked.ok()) End(ToGrpc(instead));
}

void LogStream::TakeKept(Result<std::optional<store::LogTail>> kept, bool theirs, const Status& instead) {
  if (ended_) return;
  if (!kept.ok() || !*kept) return End(ToGrpc(instead));
  if (!theirs) {
    const Status denied = NotYours(entry_.job, entry_.caller);
    owner_->door->Denied(NoteOf(entry_.caller, *entry_.row, "job " + std::to_string(entry_.job.value)), denied);
    return End(ToGrpc(denied));
  }
  store::LogTail& tail = **kept;
  const std::int64_t end = tail.offset + static_cast<std::int64_t>(tail.data.size());
  out_.set_log_begin(tail.offset);
  out_.set_log_end(end);
  const std::int64_t from = offset_ < 0 ? std::max<std::int64_t>(0, end + offset_) : offset_;
  if (tail.offset < from) {
    tail.data.erase(0, static_cast<std::size_t>(std::min(from, end) - tail.offset));
    tail.offset = from;
  }
  if (static_cast<std::int64_t>(tail.data.size()) > left_) tail.data.resize(static_cast<std::size_t>(left_));
  out_.set_offset(tail.offset);
  out_.set_attempt(tail.attempt.number);
  out_.set_kept_of_node(std::move(tail.node));
  out_.set_data(std::move(tail.data));
  last_write_ = true;
  writing_ = true;
  StartWrite(&out_);
}

void LogStream::OnWriteDone(bool ok) {
  TakeOver(this);
  owner_->strand->Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (self->ended_) return self->Finish(self->end_);
    if (!ok) return self->End(grpc::Status::CANCELLED);
    if (self->last_write_) return self->End(grpc::Status::OK);
    self->FetchNext();
  });
}

void LogStream::OnCancel() {
  TakeOver(this);
  owner_->strand->Post([self = shared_from_this()] { self->End(grpc::Status::CANCELLED); });
}

void LogStream::OnDone() {
  TakeOver(this);
  entry_.admission.Release();
  owner_->strand->Post([self = std::move(self_)] { self->owner_->watch->Forget(self.get()); });
}

void LogStream::Evict(const Status& status) { End(ToGrpc(status)); }

// With a write in flight the call is finished when that is done: its reader has gone, or is cut off soon.
void LogStream::End(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  end_ = status;
  timer_.cancel();
  if (!writing_) Finish(status);
}

}  // namespace glim::server
