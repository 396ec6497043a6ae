#include "scheduler/gateway/watch/stream_hub.h"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "scheduler/server/door/authenticate.h"

namespace glim::gateway {
namespace {

constexpr Duration kComeAgain = Seconds(2);

const std::string* Query(const StreamRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.query) {
    if (key == name) return &value;
  }
  return nullptr;
}

// What is private of a job is for those with a right to it; one that is not there has nothing private.
StateBoard::Key KeyOf(const Topic& topic, const server::Caller& caller, const server::Snapshot& snapshot) {
  StateBoard::Key key{topic, false};
  if (topic.kind == TopicKind::kNodes) key.whole = caller.IsOperator();
  if (topic.kind == TopicKind::kJob) {
    const core::Job* const job = snapshot.tables.jobs.Find(core::JobId(topic.job));
    key.whole = job && server::HasRight(caller, *job);
  }
  return key;
}

}  // namespace

StreamHub::StreamHub(Parts parts, Pace pace) : parts_(parts), pace_(pace) {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "http-stream");
    io_.run();
  });
}

Result<server::Caller> StreamHub::CallerNow(const StreamRequest& request, const StreamCaller& caller) const {
  server::Caller now;
  now.peer = request.peer;
  if (parts_.door->mode() == server::Door::Mode::kPlaintext) {
    now.user = caller.user;
    now.role = core::Role::kAdmin;
    now.scope = core::Scope::kAll;
    now.by_name = true;
    return now;
  }
  const server::SnapshotPtr snapshot = parts_.loop->snapshot();
  const core::TokenRow* const token = snapshot->tables.identity->tokens.Find(caller.token);
  if (Status s = server::CallerOfRow(*snapshot, token, parts_.loop->Now(), &now); !s.ok()) return s;
  if (Status s = parts_.door->StillAllowed(now, *rights_, {}); !s.ok()) {
    parts_.door->Denied(server::NoteOf(now, *rights_, "stream"), s);
    return s;
  }
  return now;
}

Status StreamHub::Open(const StreamRequest& request, const StreamCaller& caller, std::shared_ptr<SseSink> sink) {
  const std::string* const asked = Query(request, "topics");
  auto topics = ParseTopics(asked ? *asked : "");
  if (!topics.ok()) return topics.status();
  auto now = CallerNow(request, caller);
  if (!now.ok()) return now.status();
  const bool stranger = false;
  auto admission = parts_.limits->Admit({now->user, now->peer, stranger}, {{server::Bound::kStreams, 1}});
  if (!admission.ok()) return admission.status();

  auto reader = std::make_shared<StreamReader>();
  reader->id = next_id_.fetch_add(1);
  reader->sink = std::move(sink);
  reader->caller = std::move(now).value();
  reader->admission = std::move(admission).value();
  reader->topics = std::move(topics).value();
  const server::SnapshotPtr snapshot = parts_.loop->snapshot();
  std::vector<std::string> names;
  for (const Topic& topic : reader->topics) {
    reader->events = reader->events || topic.kind == TopicKind::kEvents;
    if (topic.kind == TopicKind::kEvents || topic.kind == TopicKind::kLog) continue;
    reader->keys.push_back(KeyOf(topic, reader->caller, *snapshot));
    names.push_back(NameOf(topic) + (reader->keys.back().whole ? "+" : ""));
    reader->shown += names.back() + ",";
  }
  if (reader->events) reader->shown += "events of " + ClassOf(reader->caller);
  reader->shown_hash = HashOf(names);
  Resume(request, caller.read_log, reader.get());
  boost::asio::post(io_, [this, reader] { Add(reader); });
  return Status::Ok();
}

// A browser says it in a header; a page that has other topics now, and opens a new stream, in the query.
void StreamHub::Resume(const StreamRequest& request, const LogTopic::Open& read_log, StreamReader* reader) {
  const std::string* const asked = Query(request, "last_event_id");
  const auto id = ReadResumeId(!request.last_event_id.empty() || !asked ? request.last_event_id : *asked);
  if (id && id->epoch == parts_.loop->epoch() && id->shown == reader->shown_hash) reader->round = id->round;
  if (id && reader->events && id->seq > 0) {
    reader->seq = id->seq;
    reader->seq_known = true;
  }
  for (const Topic& topic : reader->topics) {
    if (topic.kind != TopicKind::kLog) continue;
    LogPlace place{topic.job, topic.rank, 0, 0};
    for (const LogPlace& was : id ? id->logs : std::vector<LogPlace>()) {
      if (was.job == topic.job && was.rank == topic.rank) place = was;
    }
    reader->logs.push_back(std::make_shared<LogTopic>(&io_, place, read_log));
  }
}

void StreamHub::Add(const ReaderPtr& reader) {
  const std::uint64_t id = reader->id;
  readers_[id] = reader;
  reader->sink->OnClosed([this, id] { boost::asio::post(io_, [this, id] { Remove(id); }); });
  if (stopped_) return Bye(reader.get(), Status(StatusCode::kUnavailable, "the scheduler is stopping"));
  reader->outbox.push_back(MakeFrame(RetryText(kComeAgain)));
  for (const StateBoard::Key& key : reader->keys) board_.Join(key);
  if (reader->round > board_.round()) reader->round = 0;
  if (reader->events) ++event_readers_;
  for (const auto& log : reader->logs) log->Start();
  if (!looking_) Look();
}

void StreamHub::Remove(std::uint64_t id) {
  const auto at = readers_.find(id);
  if (at == readers_.end()) return;
  const ReaderPtr reader = at->second;
  readers_.erase(at);
  const TimePoint now = parts_.loop->Now();
  for (const StateBoard::Key& key : reader->keys) board_.Leave(key, now);
  for (const auto& log : reader->logs) log->Cancel();
  if (!reader->events) return;
  --event_readers_;
  events_left_at_ = now;
}

void StreamHub::Bye(StreamReader* reader, const Status& why) {
  if (std::exchange(reader->bye, true)) return;
  reader->outbox.clear();
  for (const auto& log : reader->logs) log->Cancel();
  reader->sink->Write(MakeFrame(ByeText(why)));
  reader->sink->Close();
}

void StreamHub::LookLater() {
  if (stopped_ || (readers_.empty() && board_.size() == 0 && !source_)) return;
  looking_ = true;
  timer_.expires_after(std::chrono::milliseconds(pace_.look.ms));
  timer_.async_wait([this](const boost::system::error_code& error) {
    looking_ = false;
    if (!error) Look();
  });
}

void StreamHub::Stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(io_, [this] {
    stopped_ = true;
    timer_.cancel();
    for (const auto& [id, reader] : readers_) {
      Bye(reader.get(), Status(StatusCode::kUnavailable, "the scheduler is stopping").WithReason("STOPPING"));
    }
    if (source_) source_->Stop();
    work_.reset();
    io_.stop();
  });
  thread_.join();
}

}  // namespace glim::gateway
