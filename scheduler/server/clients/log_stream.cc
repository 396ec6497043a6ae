#include "scheduler/server/clients/log_stream.h"

#include <chrono>
#include <utility>

#include "scheduler/server/convert/rpc_status.h"
#include "sdk/threads/hand_over.h"

namespace glim::server {
namespace {

constexpr int kOpenMax = 512;
constexpr std::uint32_t kChunkBytesMax = 256 * 1024;
constexpr std::size_t kAnswerBytesMax = 1 << 20;
constexpr std::int64_t kFollowWaitMs = 10'000;
constexpr auto kRetryEvery = std::chrono::milliseconds(200);
constexpr int kRetriesMax = 300;  // a minute of an agent that is away

// Not yet, but perhaps later: who follows waits.
Status NotYet(std::string message, const std::string& fix) {
  return Status(StatusCode::kNotFound, std::move(message)).WithReason("NO_LOG_YET").WithFix(fix);
}

}  // namespace

LogStream* LogStream::Open(Owner* owner, const v1::StreamLogRequest& request, const Status& admitted) {
  std::shared_ptr<LogStream> stream(new LogStream(owner, request));
  stream->self_ = stream;
  HandOver(stream.get());
  const bool room = owner->open.fetch_add(1) < kOpenMax;
  owner->strand->Post([stream, room, admitted] {
    if (!admitted.ok()) return stream->End(ToGrpc(admitted));
    if (!room) {
      return stream->End(ToGrpc(Status(StatusCode::kResourceExhausted, "too many logs are being read")
                                    .WithReason("OVERLOADED")
                                    .WithFix("try again in a few seconds")));
    }
    if (stream->offset_ < 0) {
      return stream->End(ToGrpc(InvalidArgument("offset", "is negative", "use 0 for the beginning")));
    }
    stream->FetchNext();
  });
  return stream.get();
}

LogStream::LogStream(Owner* owner, const v1::StreamLogRequest& request)
    : owner_(owner),
      request_(request),
      timer_(owner->strand->io()),
      offset_(request.offset()),
      attempt_(request.attempt()) {}

Result<LogStream::Source> LogStream::FindSource() const {
  const SnapshotPtr snapshot = owner_->loop->snapshot();
  const std::string id = std::to_string(request_.job_id());
  const core::Job* job = snapshot->tables.jobs.Find(core::JobId(request_.job_id()));
  if (!job) {
    return Status(StatusCode::kNotFound, "no job " + id)
        .WithReason("NO_SUCH_JOB")
        .WithField("job_id")
        .WithFix("glim queue --all lists the jobs");
  }
  const core::Attempt* attempt = nullptr;
  if (attempt_ != 0) {
    attempt = snapshot->tables.attempts.Find({job->id, attempt_});
    if (!attempt && attempt_ < job->attempts) {
      return Status(StatusCode::kNotFound, "attempt " + std::to_string(attempt_) + " of job " + id + " is one of the " +
                                               std::to_string(job->earlier.count) + " whose nodes are no longer kept")
          .WithReason("ATTEMPT_TOO_OLD")
          .WithField("attempt")
          .WithFix("glim events " + id + " tells of it and names the nodes where its log lies");
    }
    if (!attempt) {
      return Status(StatusCode::kNotFound, "job " + id + " has no attempt " + std::to_string(attempt_))
          .WithReason("NO_SUCH_ATTEMPT")
          .WithField("attempt")
          .WithFix("glim status " + id + " lists them");
    }
  }
  // The newest that has started: one that still waits for its nodes has nothing to show.
  for (std::uint32_t n = job->attempts; !attempt && n > 0; --n) {
    const core::Attempt* candidate = snapshot->tables.attempts.Find({job->id, n});
    if (!candidate) break;
    if (candidate->started_at) attempt = candidate;
  }
  if (!attempt || !attempt->started_at) {
    if (core::IsTerminal(job->state) || (attempt && attempt->state == core::AttemptState::kEnded)) {
      return Status(StatusCode::kNotFound, "it never started: it has no log").WithReason("NO_LOG");
    }
    return NotYet("job " + id + " has not started yet", "follow it to wait, or see glim why " + id);
  }
  const std::uint32_t ranks = job->spec->ranks_per_node();
  const std::size_t index = request_.rank() / ranks;
  if (index >= attempt->nodes.size()) {
    return Status(StatusCode::kInvalidArgument, "job " + id + " has " + std::to_string(attempt->nodes.size() * ranks) +
                                                    " ranks, there is no rank " + std::to_string(request_.rank()))
        .WithReason("NO_SUCH_RANK")
        .WithField("rank")
        .WithFix("ranks begin at 0");
  }
  return Source{attempt->nodes[index], attempt->id, attempt->state != core::AttemptState::kEnded};
}

void LogStream::FetchNext() {
  if (ended_) return;
  if (owner_->broker->stopping()) return End({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
  auto source = FindSource();
  if (!source.ok()) {
    if (request_.follow() && source.status().reason() == "NO_LOG_YET") return Retry(source.status());
    return End(ToGrpc(source.status()));
  }
  source_ = *source;
  attempt_ = source_.attempt.number;
  v1::LogRequest ask;
  ask.mutable_attempt()->set_job_id(source_.attempt.job.value);
  ask.mutable_attempt()->set_number(source_.attempt.number);
  ask.set_rank(request_.rank());
  ask.set_offset(offset_);
  ask.set_bytes_max(kChunkBytesMax);
  ask.set_wait_ms(request_.follow() ? kFollowWaitMs : 0);
  owner_->broker->Fetch(source_.node, std::move(ask),
                        [self = shared_from_this()](Result<v1::LogChunk> result) { self->Fetched(std::move(result)); });
}

void LogStream::Fetched(Result<v1::LogChunk> result) {
  if (ended_) return;
  if (!result.ok()) return Retry(result.status());
  v1::LogChunk chunk = std::move(result).value();
  if (!chunk.error().empty()) {
    // The agent may not have begun with the task yet.
    const Status status = Status(StatusCode::kNotFound, chunk.error().substr(0, 1024)).WithReason("NO_LOG");
    return source_.live ? Retry(status) : End(ToGrpc(status));
  }
  if (!chunk.data().empty() && (chunk.offset() < offset_ || chunk.data().size() > kAnswerBytesMax)) {
    return End({grpc::StatusCode::DATA_LOSS, "the node's agent answered with another part of the log"});
  }
  retries_ = 0;
  last_write_ = chunk.ended();
  if (chunk.data().empty()) {
    if (last_write_ || !request_.follow()) return End(grpc::Status::OK);
    return FetchNext();
  }
  offset_ = chunk.offset() + static_cast<std::int64_t>(chunk.data().size());
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

void LogStream::OnWriteDone(bool ok) {
  TakeOver(this);
  owner_->strand->Post([self = shared_from_this(), ok] {
    self->writing_ = false;
    if (self->ended_) return self->Finish(grpc::Status::CANCELLED);
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
  owner_->open.fetch_sub(1);
  owner_->strand->Post([self = std::move(self_)] {});
}

// Only a cancelled call ends while a write is in flight, and then that write fails soon.
void LogStream::End(const grpc::Status& status) {
  if (ended_) return;
  ended_ = true;
  timer_.cancel();
  if (!writing_) Finish(status);
}

}  // namespace glim::server
