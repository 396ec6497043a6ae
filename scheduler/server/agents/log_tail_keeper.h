// LogTailKeeper: a log outlives its node. When an attempt has ended, the end of the log of rank 0, and of the rank that
// failed first, is fetched from their nodes through the log broker and put into the store.
//
// Nobody waits for it: the nodes have been released before, few are asked at a time, and what is written is a
// transaction of its own between two batches. A node that is away is asked again until it is back, for a day or until
// the node is removed. Bounded in what waits; what is given up is told in the log. After a restart it goes on with what
// ended in the last hour and is not in the store.
//
// On the AgentStrand but where it says so; outlives nothing that it is given.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "scheduler/server/agents/log_broker.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/store/contract/log_tail.h"

namespace glim::server {

inline constexpr std::size_t kLogTailBytesMax = 1 << 20;  // of one attempt, all ranks together

class LogTailKeeper {
 public:
  struct Bounds {
    Duration kept;               // since the attempt's end
    std::int64_t bytes_max = 0;  // of all that are kept
  };

  LogTailKeeper(AgentStrand* strand, LogBroker* broker, SchedulerLoop* loop, const Bounds& bounds);

  // Any thread; once, when the loop has started.
  void Start();
  // Any thread. The loop's snapshot shows them as ended.
  void AttemptsEnded(std::vector<core::AttemptId> attempts);
  // Asks for nothing more. What waits is found again by the next Start.
  void Stop();

 private:
  struct Wanted {
    core::NodeId node;
    std::size_t bytes_max = 0;
    int refusals = 0;  // answers of the agent that were none, or of a log that still grew
    int tries = 0;
    store::LogTail tail;
  };
  using WantedPtr = std::shared_ptr<Wanted>;
  using Tails = std::vector<store::LogTail>;

  void Recover(const Snapshot& snapshot, const std::set<store::LogTailKey>& stored);
  void Queue(const Snapshot& snapshot, core::AttemptId id, const std::set<store::LogTailKey>& stored);
  void Pump();
  void Fetch(const WantedPtr& wanted);
  void Fetched(const WantedPtr& wanted, const Result<v1::LogChunk>& answer);
  void TryLater(const WantedPtr& wanted);
  void Drop(const Wanted& wanted, const std::string& why);
  void Write();
  void Written(const std::shared_ptr<Tails>& tails, const Status& status);
  void Trim();
  void Trimmed(const Result<std::size_t>& gone);
  void Tick();

  AgentStrand* const strand_;
  LogBroker* const broker_;
  SchedulerLoop* const loop_;
  const Bounds bounds_;
  std::deque<WantedPtr> ready_;
  std::multimap<TimePoint, WantedPtr> later_;  // by when they are tried again
  std::deque<store::LogTail> fetched_;         // to be written
  int in_flight_ = 0;
  bool writing_ = false;
  bool trimming_ = false;
  bool stopped_ = false;
  std::int64_t bytes_since_trim_ = 0;
  TimePoint write_at_;  // not before: the store was away
  TimePoint trim_at_;
  boost::asio::steady_timer tick_;
};

}  // namespace glim::server
