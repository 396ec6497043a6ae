// EventSource: one follower of the EventFeed for all streams over HTTP, and reads of what is older than that has.
//
// The hub calls from its thread; what is told comes from the agents' strand and the scheduler's, and is handed to the
// hub's thread by whoever listens. The feed outlives the source's Stop and what was posted before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/gateway/watch/event_ring.h"
#include "scheduler/server/clients/event_feed.h"

namespace glim::gateway {

class EventSource final : public server::EventFollower, public std::enable_shared_from_this<EventSource> {
 public:
  using Stored = std::vector<store::Store::StoredHistory>;
  // Of jobs without a row: user and team, as far as the history tells.
  using Owners = std::map<core::JobId, std::pair<std::string, std::string>>;
  struct Page {
    std::uint64_t after = 0;  // all behind this, as far as the last one here, or `newest` if `whole`
    Stored entries;
    Owners owners;
    std::uint64_t newest = 0;
    bool whole = false;
  };
  using Told = std::function<void(Result<Page> page)>;

  static constexpr std::size_t kPage = 500;

  // `told` hears of the newest events first, and then of each new one; an error is the last.
  EventSource(server::EventFeed* feed, Told told) : feed_(feed), told_(std::move(told)) {}

  void Start(std::size_t newest);
  void Stop();
  // One page behind this. UNAVAILABLE and the like: try again later.
  static Status Read(server::EventFeed* feed, std::uint64_t after, Told told);

  // On the agents' strand, from the feed.
  void Next() override;
  void Fail(const Status& status) override { Tell(status); }
  void End(const grpc::Status&) override { Tell(Status(StatusCode::kUnavailable, "the scheduler is stopping")); }

 private:
  void Begin(Result<Page> page);
  void Tell(const Status& status);

  server::EventFeed* const feed_;
  const Told told_;
  std::uint64_t after_ = 0;
  bool stopped_ = false;  // on the agents' strand
};

// What the ring keeps of it.
std::vector<WordedEvent> InWords(const server::Snapshot& snapshot, const EventSource::Page& page);

}  // namespace glim::gateway
