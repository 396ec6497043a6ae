// LeaderCheck: whether this scheduler still leads, when an agent says that it has followed a newer leader.
//
// An agent's word ends nobody: it makes the store be asked, at most once a second however many agents say so, and the
// store's epoch alone decides. If that one is newer than ours, the loop is told to fail as stale.
//
// Everything runs on the AgentStrand; it is owned by the AgentHub, and outlived by the strand and the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "scheduler/server/agents/agent_strand.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

class LeaderCheck {
 public:
  // The store's newest epoch, or why the store cannot be asked.
  using Done = std::function<void(const Result<std::uint64_t>&)>;

  // Both outlive it.
  LeaderCheck(AgentStrand* strand, SchedulerLoop* loop) : strand_(strand), loop_(loop) {}

  // `done` is called once: at once with what the store said within this second, else when the store has answered.
  void Ask(Done done);

 private:
  void Answered(const Result<std::uint64_t>& newest);

  AgentStrand* strand_;
  SchedulerLoop* loop_;
  TimePoint asked_at_;
  std::optional<Result<std::uint64_t>> answer_;  // to the last question; none: the store has not answered yet
  std::vector<Done> waiting_;
};

// What an agent is told that claims an epoch above ours, and what is to be done about it.
Status RefusalOfEpoch(std::uint64_t claimed, std::uint64_t ours, const Result<std::uint64_t>& newest);

}  // namespace glim::server
