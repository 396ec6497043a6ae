#include "nodeagent/services/log_service.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "nodeagent/task/log_files.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kOutputMax = 256;
constexpr std::int64_t kWaitMsMax = 5 * 60 * 1000;

}  // namespace

LogService::LogService(boost::asio::io_context& io, StubSource stub, FolderWatch& watch, std::uint64_t seed,
                       Hooks hooks)
    : io_(io),
      stub_(std::move(stub)),
      watch_(watch),
      hooks_(std::move(hooks)),
      reconnect_(seed),
      connect_timer_(io),
      searcher_(io) {}

void LogService::Up() {
  if (std::exchange(up_, true) || stream_) return;
  Connect();
}

void LogService::Down() {
  up_ = false;
  connect_timer_.cancel();
  if (stream_) stream_->Cancel();
}

void LogService::Connect() {
  Stream::Handlers handlers;
  handlers.on_read = [this](v1::LogRequest request) { OnRequest(std::move(request)); };
  handlers.on_written = [this] {
    writing_ = false;
    output_.pop_front();
    if (output_.empty()) return;
    writing_ = true;
    stream_->Write(output_.front());
  };
  handlers.on_done = [this](const grpc::Status& status) { OnDone(status); };
  stream_ = Stream::Open(
      io_, [this](grpc::ClientContext* context, Stream* reactor) { stub_()->async()->ServeLogs(context, reactor); },
      std::move(handlers));
  Send(hooks_.introduction());
}

void LogService::OnDone(const grpc::Status& status) {
  stream_.reset();
  Clear();
  if (!up_) return;
  LogWarning("event=log_stream_closed code={} error={}", static_cast<int>(status.error_code()),
             Quoted(status.error_message()));
  connect_timer_.expires_after(reconnect_.Next(Reconnect::IsRefusal(status.error_code())));
  connect_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && up_ && !stream_) Connect();
  });
}

void LogService::Clear() {
  for (auto& [id, pending] : pending_) watch_.Remove(pending.watch);
  pending_.clear();
  searcher_.Drop();
  output_.clear();
  writing_ = false;
}

void LogService::OnRequest(v1::LogRequest request) {
  if (!up_) return;
  reconnect_.Succeeded();
  if (output_.size() >= kOutputMax) return stream_->Cancel();  // it asks and does not listen
  if (request.id() == 0 || pending_.contains(request.id())) {
    return Refuse(request, "id: must be a number that is not in use");
  }
  if (pending_.size() + output_.size() >= kLogRequestsMax) {
    return Refuse(request, "too many logs are being read from this node at once; ask again later");
  }
  if (request.has_search()) return Search(std::move(request));
  if (Answer(request, request.wait_ms() <= 0)) return;
  const std::uint64_t id = request.id();
  Pending& pending = pending_[id];
  pending.request = std::move(request);
  const v1::AttemptRef& attempt = pending.request.attempt();
  auto watch = watch_.Add(hooks_.folder(attempt.job_id(), attempt.number()), [this, id] { Serve(id, false); });
  if (watch.ok()) pending.watch = *watch;
  pending.deadline = std::make_unique<boost::asio::steady_timer>(io_);
  // Without a watch the wait is cut short instead: the scheduler asks again.
  const std::int64_t wait_ms = std::min(pending.request.wait_ms(), watch.ok() ? kWaitMsMax : 500);
  pending.deadline->expires_after(std::chrono::milliseconds(wait_ms));
  pending.deadline->async_wait([this, id](boost::system::error_code error) {
    if (!error) Serve(id, true);
  });
  Serve(id, false);  // what came between the first look and the watch
}

void LogService::Search(v1::LogRequest request) {
  if (const std::string wrong = BadSearch(request); !wrong.empty()) return Refuse(request, wrong);
  const v1::AttemptRef& attempt = request.attempt();
  std::string folder = hooks_.folder(attempt.job_id(), attempt.number());
  v1::LogRequest refused;
  refused.set_id(request.id());
  const bool taken = searcher_.Post(std::move(request), std::move(folder), [this](v1::LogChunk chunk) {
    if (stream_) Send(std::move(chunk));
  });
  if (!taken) Refuse(refused, "too many searches of logs wait on this node; ask again later");
}

void LogService::Serve(std::uint64_t id, bool waited) {
  const auto it = pending_.find(id);
  if (it == pending_.end() || !Answer(it->second.request, waited)) return;
  watch_.Remove(it->second.watch);
  pending_.erase(it);
}

// False when there is nothing to say yet. `waited`: then nothing is an answer, too.
bool LogService::Answer(const v1::LogRequest& request, bool waited) {
  const v1::AttemptRef& attempt = request.attempt();
  // Asked before reading: what was written before the end is then certainly seen.
  const bool open = hooks_.open(attempt.job_id(), attempt.number());
  const std::size_t bytes =
      request.bytes_max() == 0 ? kLogChunkBytesMax : std::min<std::size_t>(request.bytes_max(), kLogChunkBytesMax);
  const std::string folder = hooks_.folder(attempt.job_id(), attempt.number());
  Result<LogData> log = ReadLog(LogPath(folder, request.rank()), request.offset(), bytes);
  if (!log.ok()) {
    // The ranks of a task that is just starting have no logs yet.
    if (open && !waited && log.status().code() == StatusCode::kNotFound) return false;
    const std::string name = "rank " + std::to_string(request.rank()) + " of attempt " +
                             std::to_string(attempt.job_id()) + "." + std::to_string(attempt.number());
    Refuse(request, log.status().code() == StatusCode::kNotFound
                        ? "this node has no log of " + name + ": it never ran here, or its log was pruned"
                        : log.status().message());
    return true;
  }
  const bool ended = !open && log->offset + static_cast<std::int64_t>(log->data.size()) >= log->end;
  if (log->data.empty() && !ended && !waited) return false;
  v1::LogChunk chunk;
  chunk.set_id(request.id());
  chunk.set_offset(log->offset);
  chunk.set_data(std::move(log->data));
  chunk.set_ended(ended);
  chunk.set_log_begin(log->begin);
  chunk.set_log_end(log->end);
  Send(std::move(chunk));
  return true;
}

void LogService::TaskEnded(std::uint64_t job, std::uint32_t attempt) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, pending] : pending_) {
    const v1::AttemptRef& ref = pending.request.attempt();
    if (ref.job_id() == job && ref.number() == attempt) ids.push_back(id);
  }
  for (const std::uint64_t id : ids) Serve(id, false);
}

void LogService::Refuse(const v1::LogRequest& request, const std::string& error) {
  v1::LogChunk chunk;
  chunk.set_id(request.id());
  chunk.set_offset(request.offset());
  chunk.set_error(error);
  Send(std::move(chunk));
}

void LogService::Send(v1::LogChunk chunk) {
  output_.push_back(std::move(chunk));
  if (std::exchange(writing_, true)) return;
  stream_->Write(output_.front());
}

}  // namespace glim::nodeagent
