// Metrics: what Prometheus scrapes. Gauges are counted from the newest snapshot when a scrape comes; the strand only
// adds to two histograms and a counter, each call to the histogram of its method.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/server/door/call_observer.h"
#include "scheduler/server/loop/scheduler_loop.h"

namespace glim::server {

// Made before the loop and the door, which it observes. Thread-safe.
class Metrics final : public LoopObserver, public CallObserver {
 public:
  Metrics();

  void OnPass(double seconds) override { pass_->Observe(seconds); }
  void OnCommit(double seconds) override { commit_->Observe(seconds); }
  void OnInterruptEnded(core::SaveResult result) override;
  void OnCallDone(const Permission& row, double seconds) override;

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  prometheus::Histogram* pass_;
  prometheus::Histogram* commit_;
  prometheus::Family<prometheus::Counter>* interrupts_;
  prometheus::Family<prometheus::Histogram>* calls_;
  // In the order of kPermissions; null: not called yet.
  std::array<std::atomic<prometheus::Histogram*>, kPermissions.size()> calls_of_{};
};

// Serves /metrics. The loop outlives it.
class MetricsServer {
 public:
  // `address` is host:port; port 0 lets the system choose.
  static Result<std::unique_ptr<MetricsServer>> Start(const std::string& address, const Metrics& metrics,
                                                      const SchedulerLoop* loop);
  int port() const { return port_; }

 private:
  MetricsServer() = default;
  std::shared_ptr<prometheus::Collectable> gauges_;
  std::unique_ptr<prometheus::Exposer> exposer_;
  int port_ = 0;
};

}  // namespace glim::server
