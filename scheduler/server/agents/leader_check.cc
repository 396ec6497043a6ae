#include "scheduler/server/agents/leader_check.h"

#include <string>
#include <utility>

#include "sdk/log/log.h"

namespace glim::server {
namespace {

constexpr Duration kAskEvery = Seconds(1);

}  // namespace

void LeaderCheck::Ask(Done done) {
  const TimePoint now = loop_->Now();
  const bool fresh = asked_at_ && now - asked_at_ < kAskEvery;
  if (fresh && answer_) return done(*answer_);
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;  // the store has been asked
  asked_at_ = now;
  answer_.reset();
  const Status asked = loop_->Read(
      [this](store::Store& store) { strand_->Post([this, newest = store.NewestEpoch()] { Answered(newest); }); });
  if (!asked.ok()) Answered(asked);
}

void LeaderCheck::Answered(const Result<std::uint64_t>& newest) {
  answer_ = newest;
  if (newest.ok() && *newest > loop_->epoch()) loop_->FailAsStale(*newest);
  if (!newest.ok()) LogWarning("leadership not known error=\"{}\"", newest.status().message());
  for (const Done& done : std::exchange(waiting_, {})) done(newest);
}

Status RefusalOfEpoch(std::uint64_t claimed, std::uint64_t ours, const Result<std::uint64_t>& newest) {
  if (!newest.ok()) {
    return Status(StatusCode::kUnavailable, "the agent has followed a scheduler of epoch " + std::to_string(claimed) +
                                                ", ours is " + std::to_string(ours) +
                                                ", and the store cannot be asked: " + newest.status().message())
        .WithReason("LEADER_UNKNOWN");
  }
  if (*newest > ours) {
    return Status(StatusCode::kUnavailable, "this scheduler is no longer the leader").WithReason("STALE_EPOCH");
  }
  return Status(StatusCode::kFailedPrecondition,
                "the agent has followed a scheduler of epoch " + std::to_string(claimed) +
                    ", and this cluster's store has given out none above " + std::to_string(*newest) +
                    ": that was no leader of this cluster, or the store is an older copy")
      .WithReason("EPOCH_AHEAD")
      .WithField("epoch")
      .WithFix(
          "if the store was restored from a copy, restart this scheduler; else see that the agent's --scheduler "
          "is this one, then stop the agent, remove STATE_DIR/desired.pb and start it again: its tasks run on");
}

}  // namespace glim::server
