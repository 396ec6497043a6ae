#include "scheduler/core/testing/health_reports.h"

#include <utility>

namespace glim::core::testing {

HealthReading Told(std::uint64_t seq, const std::string& check, std::int64_t code, const std::string& device) {
  HealthReading reading;
  reading.seq = seq;
  reading.check = check;
  reading.code = code;
  reading.device = device;
  reading.text = "line " + std::to_string(seq);
  return reading;
}

HealthCondition IsSo(const std::string& check, const std::string& device) {
  HealthCondition condition;
  condition.check = check;
  condition.device = device;
  condition.text = "as it was read";
  return condition;
}

void Tell(Cluster& c, NodeId node, std::vector<HealthReading> events, std::vector<HealthCondition> conditions,
          const std::string& boot) {
  NodeReported report{node, c.session(node), false, c.agent(node).Observed()};
  report.health_boot = boot;
  report.health_events = std::move(events);
  report.health_conditions = std::move(conditions);
  c.Do(report);
}

}  // namespace glim::core::testing
