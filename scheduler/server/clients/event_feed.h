// EventFeed: what happens now, for those who follow. While anybody does, each batch that wrote history is followed by
// one read of the store, of the new entries alone, whatever the number of followers; the newest few thousand are kept
// here. A follower that falls behind them reads the store itself again until it has caught up.
//
// Runs on the AgentStrand but for Wake.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "scheduler/server/agents/agent_strand.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

// Somebody who reads events, as the feed sees them (event_stream.h is what serves one). On the strand.
class EventFollower {
 public:
  virtual ~EventFollower() = default;
  virtual void Next() = 0;  // there is more
  virtual void Fail(const Status& status) = 0;
  virtual void End(const grpc::Status& status) = 0;
};

class EventFeed {
 public:
  // Both outlive the feed.
  EventFeed(AgentStrand* strand, SchedulerLoop* loop) : strand_(strand), loop_(loop) {}

  AgentStrand& strand() { return *strand_; }
  SchedulerLoop& loop() { return *loop_; }

  // Any thread: there is new history.
  void Wake();
  // Ends every stream, now and from now on.
  void Stop();
  bool stopping() const { return stopping_; }

  void Open(const std::shared_ptr<EventFollower>& stream) { open_.insert(stream); }
  void Close(const std::shared_ptr<EventFollower>& stream);
  // From now on the stream, which has read everything up to `after`, is told when there is more (Next).
  void Follow(const std::shared_ptr<EventFollower>& stream, std::uint64_t after);

  // Entries above a follower's `after` are all here if it is not below this.
  std::uint64_t floor() const { return floor_; }
  std::uint64_t newest() const { return newest_; }
  const std::deque<store::Store::StoredHistory>& recent() const { return recent_; }

 private:
  using Entries = std::vector<store::Store::StoredHistory>;
  void Refresh();
  void Take(Result<Entries> read);

  AgentStrand* strand_;
  SchedulerLoop* loop_;
  std::atomic<bool> woken_{false};
  std::set<std::shared_ptr<EventFollower>> open_;
  std::set<std::shared_ptr<EventFollower>> followers_;
  std::deque<store::Store::StoredHistory> recent_;  // all above floor_, up to newest_
  std::uint64_t floor_ = 0;
  std::uint64_t newest_ = 0;
  bool reading_ = false;
  bool more_ = false;  // woken while reading
  bool stopping_ = false;
};

}  // namespace glim::server
