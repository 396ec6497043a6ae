#include "scheduler/gateway/watch/event_source.h"

#include <algorithm>

#include "glim/v1/client_api.pb.h"
#include "proto/json/message_json.h"
#include "scheduler/gateway/watch/frames.h"
#include "scheduler/server/convert/event_convert.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kOwnersMax = 64;  // looked for in the store, of a page

// Whose the jobs were that have no row any more: their first entry says so.
EventSource::Owners OwnersOf(const server::Snapshot& snapshot, const EventSource::Stored& entries,
                             store::Store& store) {
  EventSource::Owners owners;
  for (const auto& stored : entries) {
    const core::JobId job = stored.entry.job;
    if (!job || snapshot.tables.jobs.Find(job) || owners.contains(job) || owners.size() == kOwnersMax) continue;
    store::Store::HistoryQuery query;
    query.job = job;
    query.limit = 1;
    const auto first = store.History(query);
    const bool known = first.ok() && !first->empty() && first->front().entry.kind == core::HistoryKind::kJobSubmitted;
    if (known) owners[job] = {first->front().entry.facts.user, first->front().entry.facts.team};
  }
  return owners;
}

// `newest` 0: behind `after`; else that many of the newest.
Result<EventSource::Page> ReadPage(server::SchedulerLoop* loop, std::uint64_t after, std::size_t newest,
                                   store::Store& store) {
  const auto last = store.LastHistory();
  if (!last.ok()) return last.status();
  EventSource::Page page;
  page.newest = *last;
  page.after = newest == 0 ? after : *last - std::min<std::uint64_t>(*last, newest);
  store::Store::HistoryQuery query;
  query.after = page.after;
  query.limit = newest == 0 ? EventSource::kPage : newest;
  auto entries = store.History(query);
  if (!entries.ok()) return entries.status();
  page.whole = newest != 0 || entries->size() < query.limit;
  page.entries = std::move(entries).value();
  page.owners = OwnersOf(*loop->snapshot(), page.entries, store);
  return page;
}

}  // namespace

void EventSource::Start(std::size_t newest) {
  const Status asked = feed_->loop().Read([self = shared_from_this(), newest](store::Store& store) {
    auto page = ReadPage(&self->feed_->loop(), 0, newest, store);
    self->feed_->strand().Post([self, page = std::move(page)]() mutable { self->Begin(std::move(page)); });
  });
  if (!asked.ok()) told_(asked);
}

void EventSource::Begin(Result<Page> page) {
  if (stopped_) return;
  if (!page.ok()) return Tell(page.status());
  if (feed_->stopping()) return Tell(Status(StatusCode::kUnavailable, "the scheduler is stopping"));
  after_ = page->newest;
  told_(std::move(page));
  feed_->Open(shared_from_this());
  feed_->Follow(shared_from_this(), after_);
}

void EventSource::Stop() {
  feed_->strand().Post([self = shared_from_this()] {
    self->stopped_ = true;
    self->feed_->Close(self);
  });
}

void EventSource::Next() {
  if (stopped_ || feed_->newest() <= after_) return;
  if (after_ < feed_->floor()) return Tell(Status(StatusCode::kUnavailable, "too many events at once"));
  Page page;
  page.after = after_;
  for (const auto& stored : feed_->recent()) {
    if (stored.seq > after_) page.entries.push_back(stored);
  }
  after_ = page.newest = feed_->newest();
  page.whole = true;
  told_(std::move(page));
}

void EventSource::Tell(const Status& status) {
  if (std::exchange(stopped_, true)) return;
  feed_->Close(shared_from_this());
  told_(status);
}

Status EventSource::Read(server::EventFeed* feed, std::uint64_t after, Told told) {
  return feed->loop().Read([loop = &feed->loop(), after, told = std::move(told)](store::Store& store) {
    told(ReadPage(loop, after, 0, store));
  });
}

std::vector<WordedEvent> InWords(const server::Snapshot& snapshot, const EventSource::Page& page) {
  std::vector<WordedEvent> events;
  events.reserve(page.entries.size());
  for (const auto& stored : page.entries) {
    const core::HistoryEntry& entry = stored.entry;
    WordedEvent event;
    event.seq = stored.seq;
    event.job = entry.job.value;
    event.operators_only = !entry.job && entry.kind == core::HistoryKind::kUserChanged;
    if (entry.job) {
      const auto said = page.owners.find(entry.job);
      if (const core::Job* const job = snapshot.tables.jobs.Find(entry.job)) {
        event.user = job->user;
        event.team = job->team;
      } else if (said != page.owners.end()) {
        event.user = said->second.first;
        event.team = said->second.second;
      }
      event.operators_only = event.user.empty();
    }
    v1::Event message;
    server::EventToProto(snapshot, stored, &message);
    event.json = OneLine(proto::MessageJson(message));
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace glim::gateway
