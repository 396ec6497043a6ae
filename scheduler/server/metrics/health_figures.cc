// And of SnapshotGauges: what health checks find now.
#include "scheduler/server/metrics/health_figures.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/core/model/health_rules.h"
#include "scheduler/server/metrics/snapshot_gauges.h"

namespace glim::server {
namespace {

constexpr std::int64_t kXidsOfTableV[] = {13, 31, 43, 44, 45, 48, 61, 62, 63, 64, 69, 74, 79, 94, 95, 119};
constexpr std::string_view kByHealth = "health";  // who cordons a node for what its checks found

std::string CodeWord(const core::HealthEvent& event) {
  if (event.check != core::kXidCheck) return "none";
  const bool known =
      std::find(std::begin(kXidsOfTableV), std::end(kXidsOfTableV), event.code) != std::end(kXidsOfTableV);
  return known ? std::to_string(event.code) : "other";
}

using EventKey = std::tuple<std::string, std::string, std::int64_t, std::int64_t, core::HealthVerdict>;

EventKey KeyOf(const core::HealthEvent& event) {
  return {event.check, event.device, event.code, event.at.ms, event.verdict};
}

}  // namespace

std::string CheckWord(const std::string& check) { return core::FindHealthCheck(check) ? check : "other"; }

bool IsOutByHealth(const core::Node& node) {
  return (node.cordon && node.cordon->by == kByHealth) || core::KeptAwayBy(node);
}

std::vector<HealthFound> NewHealthEvents(const core::Tables& before, const std::vector<core::Mutation>& mutations) {
  std::vector<HealthFound> found;
  std::map<core::NodeId, const core::Node*> seen;  // of a row that is written several times in a commit, the newest
  for (const core::Mutation& mutation : mutations) {
    const auto* const row = std::get_if<std::shared_ptr<const core::Node>>(&mutation);
    if (!row) continue;
    const auto earlier = seen.find((*row)->id);
    const core::Node* const old = earlier == seen.end() ? before.nodes.Find((*row)->id) : earlier->second;
    seen[(*row)->id] = row->get();
    if ((*row)->health_events.empty() || (old && old->health_events == (*row)->health_events)) continue;
    std::multiset<EventKey> known;
    if (old) {
      for (const core::HealthEvent& event : old->health_events) known.insert(KeyOf(event));
    }
    for (const core::HealthEvent& event : (*row)->health_events) {
      if (const auto same = known.find(KeyOf(event)); same != known.end()) {
        known.erase(same);
      } else {
        found.push_back({CheckWord(event.check), CodeWord(event), core::ToString(event.verdict)});
      }
    }
  }
  return found;
}

void AddHealthFigures(const Snapshot& snapshot, Families* families) {
  double out = 0;
  std::map<std::string, std::uint64_t> conditions;
  snapshot.tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    out += IsOutByHealth(node) ? 1 : 0;
    for (const core::HealthCondition& condition : node.health_conditions) ++conditions[CheckWord(condition.check)];
  });
  families->push_back(OneGauge("glim_nodes_out_by_health",
                               "Nodes that their health checks keep from jobs: taken out, drained, or as long as they "
                               "find something.",
                               out));
  auto family = GaugeFamily("glim_health_conditions", "What health checks of nodes find as it is now, by the check.");
  for (const auto& [check, count] : conditions) AddValue(&family, {{"check", check}}, static_cast<double>(count));
  families->push_back(std::move(family));
}

}  // namespace glim::server
