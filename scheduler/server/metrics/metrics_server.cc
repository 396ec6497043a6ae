#include "scheduler/server/metrics/metrics_server.h"

#include <exception>

namespace glim::server {

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address, const Metrics& metrics,
                                                            const SchedulerLoop* loop, const CallerLimits* limits) {
  std::unique_ptr<MetricsServer> server(new MetricsServer());
  try {
    server->exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
    server->port_ = server->exposer_->GetListeningPorts().at(0);
  } catch (const std::exception& e) {
    return Status(StatusCode::kUnavailable, "cannot serve metrics on " + address + ": " + e.what())
        .WithReason("BIND_FAILED")
        .WithField("metrics")
        .WithFix("choose another --metrics, or none");
  }
  server->gauges_ = std::make_shared<SnapshotGauges>(loop, limits);
  server->exposer_->RegisterCollectable(metrics.registry());
  server->exposer_->RegisterCollectable(server->gauges_);
  return server;
}

}  // namespace glim::server
