#include "scheduler/gateway/watch/event_ring.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "proto/json/message_json.h"

namespace glim::gateway {
namespace {

constexpr std::size_t kTextBytes = std::size_t{512} << 10;  // of one frame

std::string Begun() { return "{\"version\":" + std::to_string(proto::kJsonVersion) + ",\"events\":["; }

// False: nobody would see a difference.
bool Append(const server::Caller& reader, const WordedEvent& event, std::string* text) {
  if (!MaySee(reader, event)) return false;
  if (text->back() != '[') *text += ',';
  *text += event.json;
  return true;
}

}  // namespace

bool MaySee(const server::Caller& reader, const WordedEvent& event) {
  if (reader.IsOperator()) return true;
  if (event.operators_only) return false;
  return event.job == 0 || server::HasRight(reader, event.user, event.team);
}

std::string EventsDocument(const server::Caller& reader, const std::vector<WordedEvent>& events) {
  std::string text = Begun();
  bool any = false;
  for (const WordedEvent& event : events) any = Append(reader, event, &text) || any;
  return any ? text + "]}" : std::string();
}

std::string EventsReset() {
  return "{\"version\":" + std::to_string(proto::kJsonVersion) + ",\"reset\":true,\"events\":[]}";
}

std::string ClassOf(const server::Caller& reader) {
  if (reader.IsOperator()) return "operator";
  std::string name = "user " + reader.user;
  auto teams = reader.admin_of;
  std::sort(teams.begin(), teams.end());
  for (const std::string& team : teams) name += " " + team;
  return name;
}

void EventRing::Begin(std::uint64_t seq) {
  events_.clear();
  bytes_ = 0;
  floor_ = newest_ = seq;
}

void EventRing::Add(std::vector<WordedEvent> events) {
  for (WordedEvent& event : events) {
    if (event.seq <= newest_) continue;
    newest_ = event.seq;
    bytes_ += event.json.size() + sizeof(WordedEvent);
    events_.push_back(std::move(event));
  }
  for (; events_.size() > events_max_ || bytes_ > bytes_max_; events_.pop_front()) {
    bytes_ -= events_.front().json.size() + sizeof(WordedEvent);
    floor_ = events_.front().seq;
  }
}

void EventRing::Reach(std::uint64_t seq) { newest_ = std::max(newest_, seq); }

std::uint64_t EventRing::Newest(std::size_t events) const {
  return events < events_.size() ? events_[events_.size() - events - 1].seq : floor_;
}

std::string EventRing::Since(const server::Caller& reader, std::uint64_t* seen) const {
  auto at = std::upper_bound(events_.begin(), events_.end(), *seen,
                             [](std::uint64_t after, const WordedEvent& event) { return after < event.seq; });
  std::string text = Begun();
  bool any = false;
  for (; at != events_.end() && text.size() < kTextBytes; ++at) {
    any = Append(reader, *at, &text) || any;
    *seen = at->seq;
  }
  if (at == events_.end()) *seen = std::max(*seen, newest_);
  return any ? text + "]}" : std::string();
}

}  // namespace glim::gateway
