// What machines find in their hardware in some worlds: errors of GPUs, of links, of memory and of disks, conditions
// that come and go, told again and again and by new agents; and operators who give nodes back.
#include <algorithm>
#include <string>
#include <utility>

#include "scheduler/sim/world/world.h"

namespace glim::sim {
namespace {

using core::NodeId;

// Every row of the default table, and codes that no row names.
constexpr std::int64_t kXids[] = {13, 31, 43, 45, 74, 74, 63, 64, 94, 95, 44, 48, 61, 62, 69, 79, 119, 8, 32};
constexpr const char* kEvents[] = {"link_flash",    "link_flash",           "link_flash",
                                   "link_errors",   "memory_ecc_corrected", "memory_ecc_uncorrected",
                                   "machine_check", "gpu_ecc_corrected",    "gpu_ecc_uncorrected",
                                   "disk_error"};
constexpr const char* kConditions[] = {"pcie_slow", "gpu_throttled",  "gpu_lost",  "nvlink_down", "link_down",
                                       "link_down", "disk_read_only", "disk_slow", "link_slow",   "health_blind"};

template <typename T, std::size_t N>
T AnyOf(Rng& rng, const T (&all)[N]) {
  return all[static_cast<std::size_t>(rng.Between(0, N - 1))];
}

}  // namespace

void World::BeginHealth() {
  if (health_rng_.OneIn(2)) timeline_.After(Seconds(health_rng_.Between(5, 60)), [this] { HealthActs(); });
}

void World::HealthActs() {
  if (healing_) return;
  const NodeId node(static_cast<std::uint32_t>(health_rng_.Between(1, static_cast<std::int64_t>(agents_.size()))));
  SimAgent& agent = *agents_.at(node);
  if (health_rng_.OneIn(4)) {
    core::HealthCondition condition;
    condition.check = AnyOf(health_rng_, kConditions);
    condition.device = "d" + std::to_string(health_rng_.Between(0, 1));
    agent.SetCondition(condition, true);
    timeline_.After(Seconds(health_rng_.Between(1, 120)),
                    [this, node, condition] { agents_.at(node)->SetCondition(condition, false); });
  } else {
    // One, or the same line many times over.
    const bool is_xid = !health_rng_.OneIn(3);
    core::HealthReading found;
    found.check = is_xid ? "xid" : AnyOf(health_rng_, kEvents);
    found.code = is_xid ? AnyOf(health_rng_, kXids) : 0;
    found.device = "d" + std::to_string(health_rng_.Between(0, 1));
    const std::int64_t lines = health_rng_.OneIn(6) ? health_rng_.Between(2, 100) : 1;
    for (std::int64_t i = 0; i < lines; ++i) agent.Find(found);
  }
  // An operator looks after it; or has not found the time yet.
  if (!health_rng_.OneIn(4)) {
    timeline_.After(Seconds(health_rng_.Between(5, 240)), [this, name = hellos_.at(node).name] {
      Post(core::UncordonNode{name, "op"});
    });
  }
  timeline_.After(Milliseconds(health_rng_.Between(1000, 60'000)), [this] { HealthActs(); });
}

// Everything is repaired, and given back again and again: a scheduler may die with that.
void World::MendHealth() {
  for (const auto& [node, agent] : agents_) agent->Mend();
  state_->tables().nodes.ForEach([&](NodeId, const core::Node& node) {
    if (node.cordon) Post(core::UncordonNode{node.name, "op"});
  });
}

}  // namespace glim::sim
