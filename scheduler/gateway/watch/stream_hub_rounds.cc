// StreamHub: what its thread does every now and then.
#include <boost/asio/post.hpp>
#include <utility>

#include "scheduler/gateway/watch/stream_hub.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kWaitingMax = std::size_t{256} << 10;  // of one connection: beyond that it waits for newer state
constexpr std::size_t kShortFrame = std::size_t{64} << 10;   // shorter ones of a round are one
constexpr std::size_t kEventsKept = 1'000;                   // read from the store at the beginning
constexpr std::size_t kEventsFirst = 200;                    // that a new reader is shown
constexpr std::size_t kPagesMax = 4;                         // asked of the store at once
constexpr Duration kEventsLinger = Seconds(30);
constexpr Duration kSourceRetry = Seconds(1);

void Append(std::vector<Frame>* frames, std::string* text) {
  if (!text->empty()) frames->push_back(MakeFrame(std::exchange(*text, {})));
}

}  // namespace

void StreamHub::Look() {
  const TimePoint now = parts_.loop->Now();
  const server::SnapshotPtr snapshot = parts_.loop->snapshot();
  CheckRights();
  FollowEvents();
  TellStale(*snapshot);
  const bool due = now - round_at_ >= pace_.round;
  if (due || board_.snapshot() == nullptr) board_.Take(snapshot, now);
  bundles_.clear();
  bool sent = false;
  const bool fresh_only = !due;
  for (const auto& [id, reader] : readers_) {
    if (reader->bye || (fresh_only && reader->outbox.empty())) continue;
    const bool behind = !reader->outbox.empty() || reader->round != board_.round() || !reader->logs.empty() ||
                        (reader->events && !(reader->seq_known && reader->seq == ring_.newest()));
    if (!behind) continue;
    Pump(reader.get(), now);
    sent = true;
  }
  if (due && sent) round_at_ = now;
  if (now - heartbeat_at_ >= pace_.heartbeat) Heartbeat();
  LookLater();
}

// All that decides of rights is in two tables; while both are the same ones, time alone ends a token.
void StreamHub::CheckRights() {
  const server::SnapshotPtr snapshot = parts_.loop->snapshot();
  const TimePoint now = parts_.loop->Now();
  const bool same = accounts_ == snapshot->tables.accounts && identity_ == snapshot->tables.identity;
  accounts_ = snapshot->tables.accounts;
  identity_ = snapshot->tables.identity;
  for (const auto& [id, reader] : readers_) {
    const bool expired = reader->caller.expires_at && now >= reader->caller.expires_at;
    if (reader->bye || (same && !expired)) continue;
    if (const Status s = parts_.door->StillAllowed(reader->caller, *rights_, {}); !s.ok()) Bye(reader.get(), s);
  }
}

void StreamHub::TellStale(const server::Snapshot& snapshot) {
  Frame frame;
  for (const auto& [id, reader] : readers_) {
    if (reader->bye || reader->stale_told == snapshot.stale_since) continue;
    reader->stale_told = snapshot.stale_since;
    if (!frame) frame = MakeFrame(StaleText(snapshot.stale_since, snapshot.stale_why));
    reader->outbox.push_back(frame);
  }
}

void StreamHub::Heartbeat() {
  heartbeat_at_ = parts_.loop->Now();
  for (const auto& [id, reader] : readers_) {
    if (reader->bye || !reader->outbox.empty() || reader->sink->Waiting() > kWaitingMax) continue;
    reader->outbox.push_back(
        MakeFrame(HeartbeatText() + (reader->round > 0 ? reader->IdNow(parts_.loop->epoch()) : std::string())));
    reader->Flush();
  }
}

bool StreamHub::KeepsUp(StreamReader* reader, TimePoint now) {
  if (reader->Flush() && reader->sink->Waiting() <= kWaitingMax) {
    reader->behind_since = {};
    return true;
  }
  if (!reader->behind_since) reader->behind_since = now;
  if (now - reader->behind_since >= pace_.behind) {
    Bye(reader, Status(StatusCode::kResourceExhausted, "the stream was not read for a while").WithReason("TOO_SLOW"));
  }
  return false;
}

void StreamHub::Pump(StreamReader* reader, TimePoint now) {
  if (!KeepsUp(reader, now)) return;
  const Bundle& bundle = BundleFor(reader, now);
  reader->outbox.insert(reader->outbox.end(), bundle.frames.begin(), bundle.frames.end());
  reader->round = board_.round();
  reader->seq = bundle.seq;
  std::string text;
  bool any = false;
  for (const auto& log : reader->logs) any = log->Take(&text) || any;
  const bool of_logs = !reader->logs.empty() && !bundle.frames.empty();
  if (any || of_logs) reader->outbox.push_back(MakeFrame(text + reader->IdNow(parts_.loop->epoch())));
  reader->Flush();
}

// Readers who are shown the same and stand at the same place share it.
const StreamHub::Bundle& StreamHub::BundleFor(StreamReader* reader, TimePoint now) {
  std::string text;
  std::uint64_t from = reader->seq;
  if (reader->events) {
    if (ring_begun_ && (!reader->seq_known || reader->seq > ring_.newest())) {
      reader->seq = ring_.Newest(kEventsFirst);
      reader->seq_known = true;
      from = reader->seq;
      text = EventText("events", EventsReset());
    } else if (ring_begun_ && !ring_.Covers(reader->seq)) {
      AskPage(reader);
    }
  }
  const bool events = reader->events && ring_begun_ && !reader->page_asked && ring_.Covers(reader->seq);
  std::string key = reader->shown + "|" + std::to_string(reader->round) + "|" + std::to_string(from);
  key += std::string(events ? "|e" : "|") + (text.empty() ? "" : "r") + (reader->logs.empty() ? "" : "l");
  const auto known = bundles_.find(key);
  if (known != bundles_.end()) return known->second;

  Bundle bundle;
  bundle.seq = from;
  std::vector<Frame> parts;
  for (const StateBoard::Key& board_key : reader->keys) board_.Bring(board_key, reader->round, now, &parts);
  for (const Frame& part : parts) {
    if (part->size() < kShortFrame) {
      text += *part;
      continue;
    }
    Append(&bundle.frames, &text);
    bundle.frames.push_back(part);
  }
  if (events) {
    const std::string document = ring_.Since(reader->caller, &bundle.seq);
    if (!document.empty()) text += EventText("events", document);
  }
  const bool any = !text.empty() || !bundle.frames.empty();
  if (any && reader->logs.empty()) {
    text += IdText(WriteResumeId({parts_.loop->epoch(), board_.round(), bundle.seq, reader->shown_hash, {}}));
  }
  Append(&bundle.frames, &text);
  return bundles_[key] = std::move(bundle);
}

void StreamHub::FollowEvents() {
  const TimePoint now = parts_.loop->Now();
  if (event_readers_ == 0) {
    if (source_ && now - events_left_at_ >= kEventsLinger) {
      source_->Stop();
      source_ = nullptr;
      ring_begun_ = false;
      ring_.Begin(0);
    }
    return;
  }
  if (source_ || now < source_retry_at_) return;
  source_ = std::make_shared<EventSource>(parts_.feed, [this](Result<EventSource::Page> page) {
    boost::asio::post(io_, [this, page = std::move(page)]() mutable { TakeEvents(std::move(page)); });
  });
  source_->Start(kEventsKept);
}

void StreamHub::TakeEvents(Result<EventSource::Page> page) {
  if (stopped_ || !source_) return;
  if (!page.ok()) {
    source_->Stop();
    source_ = nullptr;
    ring_begun_ = false;
    source_retry_at_ = parts_.loop->Now() + kSourceRetry;
    return;
  }
  if (!std::exchange(ring_begun_, true)) ring_.Begin(page->after);
  ring_.Add(InWords(*parts_.loop->snapshot(), *page));
  ring_.Reach(page->newest);
}

void StreamHub::AskPage(StreamReader* reader) {
  if (reader->page_asked || pages_asked_ >= kPagesMax) return;
  const Status asked =
      EventSource::Read(parts_.feed, reader->seq, [this, id = reader->id](Result<EventSource::Page> page) {
        boost::asio::post(io_, [this, id, page = std::move(page)]() mutable { TakePage(id, std::move(page)); });
      });
  if (!asked.ok()) return;  // the next round asks again
  reader->page_asked = true;
  ++pages_asked_;
}

void StreamHub::TakePage(std::uint64_t id, Result<EventSource::Page> page) {
  --pages_asked_;
  const auto at = readers_.find(id);
  if (at == readers_.end()) return;
  StreamReader* const reader = at->second.get();
  reader->page_asked = false;
  if (reader->bye || !page.ok()) return;
  const std::vector<WordedEvent> events = InWords(*parts_.loop->snapshot(), *page);
  if (!events.empty()) reader->seq = events.back().seq;
  if (page->whole) reader->seq = std::max(reader->seq, page->newest);
  const std::string document = EventsDocument(reader->caller, events);
  if (document.empty()) return;
  reader->outbox.push_back(MakeFrame(EventText("events", document) + reader->IdNow(parts_.loop->epoch())));
}

}  // namespace glim::gateway
