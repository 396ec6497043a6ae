#include "scheduler/core/lifecycle/ledger.h"

#include <utility>

#include "scheduler/core/model/health_rules.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

std::size_t At(Use use) { return static_cast<std::size_t>(use); }

}  // namespace

Use UseByHolder(const Attempt& attempt) {
  switch (attempt.state) {
    case AttemptState::kClaimed: return Use::kClaimed;
    case AttemptState::kStarting: return Use::kStarting;
    case AttemptState::kStopping: return Use::kStopping;
    case AttemptState::kEnded: return Use::kUnavailable;
    case AttemptState::kRunning: break;
  }
  const Agreement* agreement = attempt.open_agreement();
  if (agreement && (agreement->saved_at || agreement->left_at)) return Use::kStopping;
  const bool restoring = attempt.base.step >= 0 && attempt.last_step < 0;
  return restoring ? Use::kRestoring : Use::kProductive;
}

Booked BookUntil(Node& node, TimePoint now) {
  const Duration elapsed = now - node.use_since;
  const std::int64_t gpu_ms = elapsed.ms * node.labels.gpu_count;
  node.use_since = now;
  if (gpu_ms == 0) return {};
  node.ledger[At(node.use)] += gpu_ms;
  if (node.use == Use::kProductive) node.at_risk_gpu_ms += gpu_ms;
  if (Planted(PlantedBug::kLedgerLeak) && node.use == Use::kStopping) return {};
  return {node.use, gpu_ms};
}

Use UseOf(const ClusterState& state, const Node& node) {
  if (node.holder) {
    const Attempt* attempt = state.FindAttempt(node.holder);
    return attempt ? UseByHolder(*attempt) : Use::kUnavailable;
  }
  const bool gives_jobs = node.state == NodeState::kReady && node.stale_tasks.empty() && node.orphans.empty() &&
                          node.unproven.empty() && !node.cordon && !KeptAwayBy(node) && !WaitsToBeMeasured(node);
  return gives_jobs ? Use::kFree : Use::kUnavailable;
}

Booked BookNode(const ClusterState& state, TimePoint now, const Node* old, Node& next) {
  if (!old) {
    next.use_since = next.registered_at = now;
    next.use = UseOf(state, next);
    return {};
  }
  const Use use = UseOf(state, next);
  const bool regpu = old->labels.gpu_count != next.labels.gpu_count;
  if (use == next.use && old->holder == next.holder && !regpu) return {};
  const std::uint32_t gpus = next.labels.gpu_count;
  next.labels.gpu_count = old->labels.gpu_count;
  const Booked booked = BookUntil(next, now);
  if (regpu) {
    next.registered_gpu_ms_before += (now - next.registered_at).ms * old->labels.gpu_count;
    next.registered_at = now;
  }
  next.labels.gpu_count = gpus;
  next.use = use;
  if (old->holder != next.holder) next.at_risk_gpu_ms = 0;
  return booked;
}

std::int64_t RegisteredGpuMs(const Node& node, TimePoint now) {
  return node.registered_gpu_ms_before + (now - node.registered_at).ms * node.labels.gpu_count;
}

}  // namespace glim::core
