// A scheduler's loop that is as busy as a large cluster's: ready nodes that are all held, a long queue of many shapes,
// nodes that answer what they are told; again and again a running job is cancelled, a job is submitted, and what is
// free is given away.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "scheduler/server/loop/scheduler_loop.h"
#include "sdk/base/rng.h"

namespace glim::bench {

class BusyLoop final : public server::LoopObserver {
 public:
  struct Options {
    std::uint32_t nodes = 1'000;
    std::uint32_t queued = 10'000;
    std::uint32_t shapes = 300;
    std::int64_t turn_ms = 10;  // a job ends and one comes so often, if the loop keeps up
    std::size_t ended_jobs_max = 0;
  };
  struct Times {
    std::vector<double> passes_ms, answers_ms;
  };

  BusyLoop(const Options& options, std::unique_ptr<store::Store> store);
  ~BusyLoop() override;  // stops

  server::SchedulerLoop& loop() { return *loop_; }
  // Until the nodes are full and the queue is long; then turns begin.
  void Begin();
  // What comes from now on is told apart.
  void Mark(bool apart) { apart_ = apart; }
  // Ends the turns.
  void End();
  Times TimesOf(bool apart);
  std::size_t Running() const;

  void OnPass(double seconds) override;
  void OnCommit(double /*seconds*/) override {}
  void OnChanged(const core::Tables&, const std::vector<core::Mutation>&, const core::Policy&) override {}

 private:
  core::Reply Ask(server::SchedulerLoop::Payload what);
  void Connect();
  core::SubmitJobs OfShape(std::uint32_t shape, std::uint32_t jobs) const;
  void AnswerNodes();
  void Report(core::NodeId node);
  void Turns();
  void Turn();

  const Options options_;
  std::unique_ptr<server::SchedulerLoop> loop_;
  Rng rng_{1};
  std::atomic<bool> apart_{false}, stop_{false}, turning_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::set<core::NodeId> to_answer_;
  bool answering_ = true;
  Times times_[2];
  std::thread nodes_, turns_;
};

}  // namespace glim::bench
