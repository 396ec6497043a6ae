#include "scheduler/server/metrics/metrics_server.h"

#include <exception>

#include "scheduler/server/metrics/notify_figures.h"

namespace glim::server {

Result<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& address, const Metrics& metrics,
                                                            const SchedulerLoop* loop, const CallerLimits* limits,
                                                            const notify::Figures* notifications) {
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
  server->notifications_ = std::make_shared<NotifyFigures>(notifications);
  server->exposer_->RegisterCollectable(server->notifications_);
  return server;
}

}  // namespace glim::server
