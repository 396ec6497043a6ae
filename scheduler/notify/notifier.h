// Notifier: follows the history and tells whom jobs' specs name what became of them.
//
// The history is the source of truth, and how far it was followed is a mark in the store (progress.h): after a restart,
// and for another leader, everything that was not told is found again. So each message arrives at least once, within
// what the history keeps, with the same id each time; and what a leader that has been replaced still sends is what its
// successor sends, too. A policy that names nobody costs nothing: nothing is read.
//
// Its own thread reads the store through the strand, which waits for nothing here. What is sent: outbox.h.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "scheduler/notify/figures.h"
#include "scheduler/notify/outbox.h"
#include "scheduler/notify/progress.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::notify {

class Notifier {
 public:
  struct Options {
    std::string cluster_id;
    Send send = SendTo;
    std::function<double()> random;  // in [0, 1); one thread at a time
    Retry retry;
    std::size_t waiting_max = 1000;
  };

  // The loop outlives it.
  Notifier(server::SchedulerLoop* loop, Options options);
  ~Notifier() { Stop(); }

  // Once, when the loop has started.
  void Start();
  // Any thread; must not block: there is new history.
  void Wake();
  // Before the loop stops. Idempotent.
  void Stop();

  const Figures& figures() const { return figures_; }

 private:
  using StoredHistory = store::Store::StoredHistory;

  void Run();
  bool Await(bool again);
  void Adopt(const std::shared_ptr<const core::Policy>& policy);
  // What follows returns whether it is to be tried again.
  bool Begin();
  bool Follow();
  void Take(const StoredHistory& stored, const server::Snapshot& snapshot);
  bool WriteMark();
  void Skipped(const Message& message);
  // An answer of the strand's, until it is there.
  template <typename T>
  struct Slot {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<Result<T>> answer;
  };
  template <typename T>
  std::shared_ptr<Slot<T>> Ask(std::function<Result<T>(store::Store&)> what);
  template <typename T>
  Result<T> AnswerOf(Slot<T>& slot);
  std::shared_ptr<Slot<Progress>> AskBegin();

  server::SchedulerLoop* const loop_;
  const std::string cluster_id_;
  Figures figures_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;                                          // under mutex_
  bool stopping_ = false;                                       // under mutex_
  bool progressed_ = false;                                     // under mutex_
  std::set<std::pair<core::JobId, std::string>> told_skipped_;  // under mutex_
  std::atomic<bool> active_{false};

  // The thread's own.
  std::shared_ptr<const core::Policy> policy_;
  bool first_ = true;  // nothing has been followed yet: the mark counts
  std::shared_ptr<Slot<Progress>> asked_begin_;
  bool begun_ = false;
  bool dirty_ = false;                             // the mark is older than what is known
  std::chrono::steady_clock::time_point mark_at_;  // not before
  bool fenced_ = false;                            // another one leads
  Progress before_;                                // of an earlier life
  std::uint64_t read_ = 0;
  std::uint64_t marked_ = 0;  // read_ of the newest mark
  Outbox outbox_;
  std::thread thread_;
};

}  // namespace glim::notify
