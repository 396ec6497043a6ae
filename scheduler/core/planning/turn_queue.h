// 1. Order (planner.h): the queue of a pass as turns, the first in line in front. A shape has one turn at a time, and
// one more for those of it that are starved: jobs of a shape are told alike, and so 100,000 that wait count as one.
// Private to the planner.
#pragma once

#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "scheduler/core/planning/pass.h"

namespace glim::core {

// A shape's queue from some job on, in the order of submission, or its starved ones from some on, who waited longest in
// front.
struct Turn {
  using Queue = std::set<QueueKey>;
  using Waiting = std::set<std::pair<TimePoint, JobId>>;

  PriorityClass priority;   // that counts: of what is beyond a quota, low
  bool borrows;             // it comes behind all of its class
  TimePoint starved_since;  // 0: not
  Urgency urgency;
  QueueKey key;
  const Shape* shape = nullptr;
  Queue::const_iterator at, end;             // not of starved ones
  Waiting::const_iterator waits, waits_end;  // of these

  // The top of the heap is planned first.
  bool operator<(const Turn& other) const;
};

class TurnQueue {
 public:
  // Lent, and outlives this.
  explicit TurnQueue(Pass& pass) : pass_(pass) {}

  void Add(const Shape& shape, const Turn::Queue& queue) { Push(shape, queue.begin(), queue.end()); }
  // Of these only who has waited for the policy's bound, and is within its quotas.
  void AddStarved(const Shape& shape, const Turn::Waiting& waiting) {
    PushStarved(shape, waiting.begin(), waiting.end());
  }
  bool StarvedComesNext() const { return !turns_.empty() && turns_.top().starved_since; }

  // The turn that is next; nothing: there is none.
  std::optional<Turn> Take();
  // Gives the turn to the next job of its kind that has not started.
  void PassOn(const Turn& turn);
  void Started(JobId job) { started_.insert(job); }
  bool HasStarted(JobId job) const { return started_.contains(job); }

 private:
  void Push(const Shape& shape, Turn::Queue::const_iterator at, Turn::Queue::const_iterator end);
  void PushStarved(const Shape& shape, Turn::Waiting::const_iterator at, Turn::Waiting::const_iterator end);

  Pass& pass_;
  std::priority_queue<Turn> turns_;
  std::set<JobId> started_;
};

}  // namespace glim::core
