#include "scheduler/server/clients/event_feed.h"

#include <utility>

namespace glim::server {
namespace {

constexpr std::size_t kReadMax = 1000;
constexpr std::size_t kRecentMax = 4096;

}  // namespace

void EventFeed::Wake() {
  if (woken_.exchange(true)) return;
  strand_->Post([this] {
    woken_ = false;
    Refresh();
  });
}

void EventFeed::Stop() {
  stopping_ = true;
  for (const auto& stream : std::set(open_)) stream->End({grpc::StatusCode::UNAVAILABLE, "the scheduler is stopping"});
}

void EventFeed::Close(const std::shared_ptr<EventFollower>& stream) {
  open_.erase(stream);
  followers_.erase(stream);
}

void EventFeed::Follow(const std::shared_ptr<EventFollower>& stream, std::uint64_t after) {
  if (followers_.empty()) {
    recent_.clear();
    floor_ = newest_ = after;
  }
  followers_.insert(stream);
  Refresh();  // what was written since the stream's own read
}

void EventFeed::Refresh() {
  if (followers_.empty() || stopping_) return;
  if (std::exchange(reading_, true)) {
    more_ = true;
    return;
  }
  more_ = false;
  const Status posted = loop_->Read([this, after = newest_](store::Store& store) {
    auto entries = store.History({.after = after, .limit = kReadMax});
    strand_->Post([this, read = std::move(entries)]() mutable { Take(std::move(read)); });
  });
  if (!posted.ok()) reading_ = false;  // it is stopping, or so busy that the next batch is not far
}

void EventFeed::Take(Result<Entries> read) {
  reading_ = false;
  if (!read.ok()) {
    for (const auto& stream : std::set(followers_)) stream->Fail(read.status());
    return;
  }
  for (auto& entry : *read) {
    if (entry.seq <= newest_) continue;  // the followers of then have gone, and others came
    newest_ = entry.seq;
    recent_.push_back(std::move(entry));
  }
  for (; recent_.size() > kRecentMax; recent_.pop_front()) floor_ = recent_.front().seq;
  if (more_ || read->size() == kReadMax) Refresh();
  for (const auto& stream : std::set(followers_)) stream->Next();
}

}  // namespace glim::server
