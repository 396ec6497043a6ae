#include "scheduler/gateway/watch/state_ring.h"

#include <algorithm>
#include <utility>

namespace glim::gateway {
namespace {

constexpr std::size_t kLittle = std::size_t{64} << 10;  // changes of less are sent whatever the state's size

}  // namespace

void StateRing::Add(std::uint64_t round, Frame changes) {
  bytes_ += changes->size();
  changes_.push_back({round, std::move(changes)});
  for (; bytes_ > bytes_max_ || changes_.size() > frames_max_; changes_.pop_front()) {
    bytes_ -= changes_.front().frame->size();
    floor_ = changes_.front().round;
  }
}

std::size_t StateRing::BytesSince(std::uint64_t round) const {
  std::size_t bytes = 0;
  for (auto it = changes_.rbegin(); it != changes_.rend() && it->round > round; ++it) bytes += it->frame->size();
  return bytes;
}

bool StateRing::HasState() const {
  return state_round_ != 0 && Covers(state_round_) && BytesSince(state_round_) <= std::max(state_bytes_, kLittle);
}

// A state that is not known yet is taken for a large one: few readers come from far behind.
bool StateRing::ByChanges(std::uint64_t seen) const {
  if (seen == 0 || !Covers(seen)) return false;
  return state_round_ == 0 || BytesSince(seen) <= std::max(state_bytes_, kLittle);
}

bool StateRing::NeedsState(std::uint64_t seen) const { return !ByChanges(seen) && !HasState(); }

void StateRing::SetState(std::uint64_t round, std::vector<Frame> parts) {
  state_round_ = round;
  state_ = std::move(parts);
  state_bytes_ = 0;
  for (const Frame& part : state_) state_bytes_ += part->size();
}

void StateRing::From(std::uint64_t seen, std::vector<Frame>* out) const {
  const bool by_changes = ByChanges(seen);
  const std::uint64_t since = by_changes ? seen : state_round_;
  if (!by_changes) out->insert(out->end(), state_.begin(), state_.end());
  auto at = changes_.end();
  while (at != changes_.begin() && std::prev(at)->round > since) --at;
  for (; at != changes_.end(); ++at) out->push_back(at->frame);
}

}  // namespace glim::gateway
