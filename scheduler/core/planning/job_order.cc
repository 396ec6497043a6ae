#include "scheduler/core/planning/job_order.h"

#include <algorithm>
#include <map>

namespace glim::core {
namespace {

constexpr Duration kAgeFloor = Minutes(10);     // younger ones are all alike
constexpr std::uint16_t kLikelyPermille = 400;  // to end within quantum_max: then a starved job is let end
constexpr std::int64_t kGpuHour = Hours(1).ms;

std::int64_t Score(const Policy& policy, const Kind& kind, Duration service, std::int64_t index) {
  const auto age = static_cast<std::uint64_t>(std::max(service, kAgeFloor).ms);
  return (policy.size_weight_permille * FixedLog2(kind.nodes) + policy.age_weight_permille * FixedLog2(age)) / 1000 -
         index;
}

const RuntimePrediction& RuntimePredictionOf(const ClusterState& state, const Policy& policy, const Kind& kind) {
  return state.index().history.RuntimePredictionOf(kind, policy.switch_cost, policy.quantum_max);
}

}  // namespace

std::int32_t ShareOf(std::uint32_t weight, std::int64_t decayed_gpu_ms) {
  const std::int64_t hours = decayed_gpu_ms / kGpuHour * kTeamWeight / weight;
  return static_cast<std::int32_t>(FixedLog2(static_cast<std::uint64_t>(hours) + 1) / 1024);
}

std::int32_t UserShareOf(std::int64_t user_gpu_ms, std::int64_t team_gpu_ms, std::size_t users) {
  const auto log = [](std::int64_t gpu_ms) { return FixedLog2(static_cast<std::uint64_t>(gpu_ms / kGpuHour) + 1); };
  const auto mean = team_gpu_ms / static_cast<std::int64_t>(std::max<std::size_t>(users, 1));
  return static_cast<std::int32_t>((log(user_gpu_ms) - log(mean)) / 1024);
}

std::int64_t ScoreOfWaiting(const ClusterState& state, const Policy& policy, const Kind& kind, Duration service) {
  return Score(policy, kind, service, RuntimePredictionOf(state, policy, kind).waiting[ServiceBucket(service)]);
}

std::int64_t ScoreOfRunning(const ClusterState& state, const Policy& policy, const Kind& kind, Duration service) {
  return Score(policy, kind, service, RuntimePredictionOf(state, policy, kind).running[ServiceBucket(service)]);
}

std::int64_t PreemptGain(const Policy& policy) {
  return FixedLog2(static_cast<std::uint64_t>(std::max<std::int64_t>(policy.preempt_gain_permille, 1000))) -
         FixedLog2(1000);
}

bool IsPreemptedBy(std::int64_t preempt_gain, const Urgency& running, const Urgency& waiting) {
  if (waiting.share + 1 < running.share) return true;
  if (running.share + 1 < waiting.share) return false;
  if (waiting.user_share + 1 < running.user_share) return true;
  if (running.user_share + 1 < waiting.user_share) return false;
  return waiting.score + preempt_gain < running.score;
}

Duration QuantumOf(const ClusterState& state, const Policy& policy, const Job& job, bool starved) {
  if (!starved) return policy.quantum_min;
  const RuntimePrediction& prediction = RuntimePredictionOf(state, policy, KindOf(job));
  const bool likely = prediction.ends_soon_permille[ServiceBucket(job.service)] > kLikelyPermille;
  return likely ? policy.quantum_max : policy.quantum_min;
}

namespace {

// Node-milliseconds of the quanta that those who wait longer may be given.
std::int64_t QuantaAhead(const ClusterState& state, const Policy& policy, const Job& job) {
  const auto waiting = state.index().waiting.find({job.spec->pool, job.spec->priority});
  if (waiting == state.index().waiting.end()) return 0;
  std::int64_t ahead = 0;
  if (waiting->second.rbegin()->second == job.id) {  // it has just begun to wait: all the others, shape by shape
    for (const auto& [shape, queue] : state.index().queue) {
      if (shape.pool != job.spec->pool || shape.priority != job.spec->priority) continue;
      const Job& one = *state.FindJob(queue.begin()->id);
      ahead += QuantumOf(state, policy, one, true).ms * shape.nodes * static_cast<std::int64_t>(queue.size());
    }
    return ahead;
  }
  for (const auto& [since, id] : waiting->second) {
    if (id == job.id) break;
    const Job& other = *state.FindJob(id);
    ahead += QuantumOf(state, policy, other, true).ms * other.spec->nodes;
  }
  return ahead;
}

}  // namespace

namespace {

// Of the pool's largest zone.
std::int64_t NodesServing(const ClusterState& state, const std::string& pool) {
  const auto layout = state.layouts().pools.find(pool);
  if (layout == state.layouts().pools.end()) return 1;
  std::map<std::uint32_t, std::int64_t> by_zone;
  std::int64_t largest = 1;
  for (const std::uint32_t zone : layout->second.zones) largest = std::max(largest, ++by_zone[zone]);
  return largest;
}

}  // namespace

Duration PromisedWait(const ClusterState& state, const Policy& policy, const Job& job) {
  const std::int64_t nodes = NodesServing(state, job.spec->pool);
  return policy.starvation_bound + policy.quantum_max + Duration{2 * QuantaAhead(state, policy, job) / nodes};
}

}  // namespace glim::core
