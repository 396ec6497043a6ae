#include "scheduler/core/planning/job_order.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "scheduler/core/model/interrupt_terms.h"

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
  const std::size_t bucket = ServiceBucket(service);
  return Score(policy, kind, service, state.index().history.IndexOfWaiting(kind, bucket, policy.switch_cost));
}

std::int64_t ScoreOfRunning(const ClusterState& state, const Policy& policy, const Kind& kind, Duration service) {
  return Score(policy, kind, service, state.index().history.IndexOfRunning(kind, ServiceBucket(service)));
}

std::int64_t PreemptGain(const Policy& policy) {
  return FixedLog2(static_cast<std::uint64_t>(std::max<std::int64_t>(policy.preempt_gain_permille, 1000))) -
         FixedLog2(1000);
}

bool IsPreemptedBy(std::int64_t preempt_gain, const Urgency& running, const Urgency& waiting) {
  return std::tuple(waiting.share, waiting.user_share, waiting.score) <
         std::tuple(running.share, running.user_share, running.score - preempt_gain);
}

Duration QuantumOf(const ClusterState& state, const Policy& policy, const Job& job, bool starved) {
  Duration quantum = policy.quantum_min;
  if (starved) {
    const ServiceHistory& history = state.index().history;
    const std::size_t bucket = ServiceBucket(job.service);
    const bool likely = history.EndsWithinPermille(KindOf(job), bucket, policy.quantum_max) > kLikelyPermille;
    if (likely) quantum = policy.quantum_max;
  }
  return DoubledQuantum(quantum, job.quantum_doublings);
}

namespace {

// The longest that its class may have to leave an attempt of it alone.
Duration ProtectionOf(const ClusterState& state, const Policy& policy, const Job& job) {
  return std::max(QuantumOf(state, policy, job, true), LongestMinRun(policy));
}

// Node-milliseconds of the quanta that those who wait longer may be given.
std::int64_t QuantaAhead(const ClusterState& state, const Policy& policy, const Job& job) {
  const std::pair mine(job.queued_at, job.id);
  std::int64_t ahead = 0;
  for (const auto& [shape, waiting] : state.index().waiting) {
    if (shape.pool != job.spec->pool || shape.priority != job.spec->priority || *waiting.begin() >= mine) continue;
    const bool all = *waiting.rbegin() < mine;
    const auto jobs =
        all ? static_cast<std::int64_t>(waiting.size()) : std::distance(waiting.begin(), waiting.lower_bound(mine));
    // Jobs of one shape are given one quantum.
    const Job& one = *state.FindJob(waiting.begin()->second);
    ahead += ProtectionOf(state, policy, one).ms * shape.nodes * jobs;
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

namespace {

// Of those of its pool and class whose quantum is doubled, whether they run or wait: each may come before it once more.
struct Doubled {
  Duration longest;                    // of their quanta
  std::int64_t node_milliseconds = 0;  // of all of them
};

Doubled DoubledBeside(const ClusterState& state, const Policy& policy, const Job& job) {
  Doubled sum;
  for (const JobId id : state.index().doubled) {
    const Job& other = *state.FindJob(id);
    if (id == job.id || other.spec->pool != job.spec->pool || other.spec->priority != job.spec->priority) continue;
    const Duration quantum = ProtectionOf(state, policy, other);
    sum.longest = std::max(sum.longest, quantum);
    sum.node_milliseconds += quantum.ms * other.spec->nodes;
  }
  return sum;
}

}  // namespace

Duration PromisedWait(const ClusterState& state, const Policy& policy, const Job& job) {
  const std::int64_t nodes = NodesServing(state, job.spec->pool);
  const Doubled doubled = DoubledBeside(state, policy, job);
  const std::int64_t ahead = QuantaAhead(state, policy, job) + doubled.node_milliseconds;
  const Duration runs_on = std::max({policy.quantum_max, doubled.longest, LongestMinRun(policy)});
  return policy.starvation_bound + runs_on + Duration{2 * ahead / nodes};
}

}  // namespace glim::core
