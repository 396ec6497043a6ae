// MetricsServer: serves /metrics.
#pragma once

#include <prometheus/exposer.h>

#include <memory>
#include <string>

#include "scheduler/notify/figures.h"
#include "scheduler/server/metrics/metrics.h"
#include "scheduler/server/metrics/snapshot_gauges.h"

namespace glim::server {

class MetricsServer {
 public:
  // `address` is host:port; port 0 lets the system choose. The loop, the limits and the
  // notifications outlive it. UNAVAILABLE (BIND_FAILED): the port is taken.
  static Result<std::unique_ptr<MetricsServer>> Start(const std::string& address, const Metrics& metrics,
                                                      const SchedulerLoop* loop, const CallerLimits* limits,
                                                      const notify::Figures* notifications);
  int port() const { return port_; }

 private:
  MetricsServer() = default;
  std::shared_ptr<prometheus::Collectable> gauges_;
  std::shared_ptr<prometheus::Collectable> notifications_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  int port_ = 0;
};

}  // namespace glim::server
