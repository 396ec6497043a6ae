#include "scheduler/core/planning/victims.h"

#include <algorithm>
#include <tuple>

#include "scheduler/core/model/interrupt_terms.h"

namespace glim::core {
namespace {

constexpr std::int64_t kSaveSuccessAtFirstPermille = 800;

Duration SaveCost(const Job& job, const PoolSaves& pool, const Policy& policy) {
  if (job.save_cost.ms > 0) return job.save_cost;
  return pool.done > 0 ? Duration{pool.save_ms / pool.done} : policy.default_save_cost;
}

std::int64_t SuccessPermille(const Job& job, const PoolSaves& pool) {
  if (job.saves_asked > 0) return std::int64_t{1000} * job.saves_done / job.saves_asked;
  return pool.asked > 0 ? 1000 * pool.done / pool.asked : kSaveSuccessAtFirstPermille;
}

}  // namespace

std::int64_t PreemptionCostOf(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint now) {
  const Job& job = *state.FindJob(attempt.id.job);
  const auto found = state.index().saves.find(job.spec->pool);
  const PoolSaves pool = found == state.index().saves.end() ? PoolSaves() : found->second;
  std::int64_t gpus = 0;
  for (const NodeId node : attempt.nodes) gpus += state.FindNode(node)->labels.gpu_count;
  const std::int64_t p = SuccessPermille(job, pool);
  const std::int64_t interval =
      pool.intervals > 0 ? pool.interval_ms / pool.intervals : policy.median_checkpoint_interval.ms;
  const std::int64_t age = std::min((now - std::max(attempt.started_at, attempt.durable_at)).ms, interval);
  const std::int64_t known = job.leaves > 0 ? job.leave_time.ms : pool.leaves > 0 ? pool.leave_ms / pool.leaves : 0;
  const std::int64_t save = p * SaveCost(job, pool, policy).ms / 1000;
  const Duration start = attempt.running_at ? attempt.running_at - attempt.started_at : Duration{};
  return gpus * (std::max(known, save) + (1000 - p) * age / 1000 + start.ms + RestoreCostOf(policy, job).ms);
}

TimePoint ProtectedUntil(const ClusterState& state, const Policy& policy, const Attempt& attempt, bool borrowed) {
  const Job& job = *state.FindJob(attempt.id.job);
  if (job.validates) return attempt.started_at;
  return attempt.started_at + MinRunOf(policy, job, borrowed);
}

TimePoint SaveDue(const ClusterState& state, const Policy& policy, const Attempt& attempt, TimePoint now) {
  const Job& job = *state.FindJob(attempt.id.job);
  const bool saves_when_asked = job.saves_asked == 0 || job.saves_done * 2 >= job.saves_asked;
  if (saves_when_asked || attempt.save_interval.ms == 0 || !attempt.durable_at) return {};
  const TimePoint due = attempt.durable_at + attempt.save_interval;
  // Nearer than the last one, or who saves every few seconds would be let go on for ever.
  const bool is_near = due <= now + policy.save_wait_max && due - now < now - attempt.durable_at;
  return due > now && is_near ? due : TimePoint{};
}

std::optional<VictimChoice> ChooseVictims(std::vector<VictimOption> options, std::uint32_t nodes_needed) {
  const auto order = [](const VictimOption& v) {
    return std::tuple(v.charged, !v.borrowed, v.preemption_cost_gpu_ms, v.attempt);
  };
  // A few of many are needed, as a rule: a heap spares sorting the rest.
  const auto later = [&](const auto& a, const auto& b) { return order(b) < order(a); };
  std::make_heap(options.begin(), options.end(), later);
  std::vector<VictimOption> chosen;
  std::uint64_t freed = 0;
  for (auto end = options.end(); freed < nodes_needed && end != options.begin();) {
    std::pop_heap(options.begin(), end, later);
    chosen.push_back(*--end);
    freed += end->nodes;
  }
  if (freed < nodes_needed) return std::nullopt;
  // A large one at the end may make small ones before it needless: spare the dearest of these first.
  for (auto it = chosen.rbegin(); it != chosen.rend();) {
    if (freed - it->nodes >= nodes_needed) {
      freed -= it->nodes;
      it = std::make_reverse_iterator(chosen.erase(std::next(it).base()));
    } else {
      ++it;
    }
  }
  VictimChoice choice;
  for (const VictimOption& v : chosen) {
    choice.victims.push_back(v.attempt);
    choice.preemption_cost_gpu_ms += v.preemption_cost_gpu_ms;
    choice.highest = std::max(choice.highest, v.charged);
  }
  return choice;
}

}  // namespace glim::core
