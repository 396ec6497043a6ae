// Outbox: what is to be told, by target, until it was told or is given up.
//
// Each target has a thread of its own and is told one message after another, in the order of the history, so that a
// target that is slow or away holds up no other. What fails is tried again (retry.h). At most waiting_max messages wait
// for a target: the oldest that is not being sent goes for a newer one. What goes is counted and told in the log.
//
// Any thread may call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "scheduler/core/model/policy.h"
#include "scheduler/notify/figures.h"
#include "scheduler/notify/message.h"
#include "scheduler/notify/retry.h"
#include "scheduler/notify/target.h"

namespace glim::notify {

class Outbox {
 public:
  struct Options {
    Send send = SendTo;
    std::function<TimePoint()> now;
    std::function<double()> random;  // in [0, 1); called under a lock
    Retry retry;
    std::size_t waiting_max = 1000;  // of a target
    // Called without a lock: something that waited does not any more.
    std::function<void()> on_progress = [] {};
    // The policy has no such name any more.
    std::function<void(const Message&)> on_skipped = [](const Message&) {};
  };

  Outbox(Options options, Figures* figures) : options_(std::move(options)), figures_(figures) {}
  ~Outbox() { Stop(); }

  // From now on these. What waits for a name that is gone is skipped.
  void SetTargets(const core::NotifyPolicy& policy);
  // To one of the targets; skipped if it is none.
  void Put(Message message);
  // Of each target for which something waits, the first of it.
  std::map<std::string, std::uint64_t> Waiting() const;
  // Since what the oldest that waits tells of; 0: none waits.
  Duration OldestAge() const;
  // Tells nobody anything more. Idempotent.
  void Stop();

 private:
  struct Lane {
    Target target;
    std::deque<Message> queue;
    int failures = 0;   // of the first
    TimePoint due;      // when the first is tried again
    bool busy = false;  // the first is being sent
    std::condition_variable changed;
    std::thread thread;  // begins with the first message
  };

  void Run(const std::string& name, Lane* lane);
  // Under the lock, after a try of the first message.
  void Judge(const std::string& name, Lane* lane, const Status& sent);
  void Drop(const std::string& name, Lane* lane, std::size_t index, const std::string& why);
  void Skip(const Message& message);

  const Options options_;
  Figures* const figures_;
  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Lane>> lanes_;
  std::atomic<bool> stopping_{false};
};

}  // namespace glim::notify
