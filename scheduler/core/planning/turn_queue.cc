#include "scheduler/core/planning/turn_queue.h"

#include <tuple>

namespace glim::core {

bool Turn::operator<(const Turn& other) const {
  const auto order = [](const Turn& turn) {
    const bool starves = static_cast<bool>(turn.starved_since);
    return std::tuple(turn.borrows, !starves, turn.starved_since, turn.key.not_swap_aborted, turn.urgency, turn.key);
  };
  return priority != other.priority ? priority < other.priority : order(other) < order(*this);
}

std::optional<Turn> TurnQueue::Take() {
  if (turns_.empty()) return std::nullopt;
  const Turn turn = turns_.top();
  turns_.pop();
  return turn;
}

void TurnQueue::PassOn(const Turn& turn) {
  if (turn.starved_since) {
    PushStarved(*turn.shape, turn.waits, turn.waits_end);
  } else {
    Push(*turn.shape, turn.at, turn.end);
  }
}

void TurnQueue::Push(const Shape& shape, Turn::Queue::const_iterator at, Turn::Queue::const_iterator end) {
  while (at != end && started_.contains(at->id)) ++at;
  if (at == end) return;
  const QuotaTurn turn = pass_.quota().TurnOf(shape);
  const bool borrows = turn.standing != QuotaStanding::kWithin;
  turns_.push({turn.order, borrows, {}, pass_.UrgencyOf(shape), *at, &shape, at, end, {}, {}});
}

void TurnQueue::PushStarved(const Shape& shape, Turn::Waiting::const_iterator at, Turn::Waiting::const_iterator end) {
  while (at != end && started_.contains(at->second)) ++at;
  if (at == end || at->first > pass_.now() - pass_.policy().starvation_bound) return;
  const QuotaTurn turn = pass_.quota().TurnOf(shape);
  if (turn.standing != QuotaStanding::kWithin) return;  // no start is promised to them
  const QueueKey key = QueueKeyOf(*pass_.state().FindJob(at->second));
  turns_.push({turn.order, false, at->first, pass_.UrgencyOf(shape), key, &shape, {}, {}, at, end});
}

}  // namespace glim::core
