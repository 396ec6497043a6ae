// AgentMetrics: /metrics of one agent, on loopback, where the configuration says `metrics`. Few series; the scheduler
// has the rest of what reports tell. On the agent's loop; Prometheus is served by a thread of its own.
#pragma once

#include <prometheus/exposer.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/metrics/task_figures.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

class AgentMetrics {
 public:
  // `address` is HOST:PORT; port 0 lets the system choose. `state_dir` is on the disk whose room is told. UNAVAILABLE:
  // the port is taken.
  static Result<std::unique_ptr<AgentMetrics>> Start(const std::string& address, const std::string& state_dir,
                                                     const std::string& version);

  void Look(const v1::NodeReport& report, TimePoint now) { tasks_.Look(report, now); }
  // The stream to the scheduler has begun, or ended.
  void SetConnected(bool connected);
  int port() const { return port_; }

 private:
  AgentMetrics();

  const std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  TaskFigures tasks_;
  prometheus::Gauge* connected_ = nullptr;
  prometheus::Counter* connects_ = nullptr;
  std::shared_ptr<prometheus::Collectable> disk_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  int port_ = 0;
};

}  // namespace glim::nodeagent
