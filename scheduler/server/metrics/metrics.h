// Metrics: the counters and histograms that the strand and the calls add to, as cheaply as may be. What is counted when
// a scrape comes is snapshot_gauges.h's. docs/metrics.md has them all.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/server/door/call_observer.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/metrics/commit_figures.h"

namespace glim::server {

// Made before the loop and the door, which it observes. Thread-safe.
class Metrics final : public LoopObserver, public CallObserver {
 public:
  Metrics();

  void OnPass(double seconds) override { pass_->Observe(seconds); }
  void OnCommit(double seconds) override { commit_->Observe(seconds); }
  void OnChanged(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                 const core::Policy& policy) override;
  void OnCallDone(const Permission& row, double seconds, StatusCode code) override;
  void OnDenied(const std::string& reason) override;

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  using Counters = prometheus::Family<prometheus::Counter>;
  using Histograms = prometheus::Family<prometheus::Histogram>;
  void MakeSchedulerFamilies();
  void MakeInterruptFamilies();
  void MakeHealthFamilies();
  void MakeCallFamilies();
  Counters* Counted(const char* name, const char* help);
  Histograms* Observed(const char* name, const char* help);
  void Keep(const char* promise, bool kept);
  void Began(const Started& started);
  void Left(const Interrupted& interrupt);

  std::shared_ptr<prometheus::Registry> registry_ = std::make_shared<prometheus::Registry>();
  prometheus::Histogram* pass_ = nullptr;
  prometheus::Histogram* commit_ = nullptr;
  Histograms* waits_ = nullptr;
  prometheus::Histogram* starts_ = nullptr;
  Counters* ended_ = nullptr;
  Counters* interrupts_ = nullptr;
  Histograms* phases_ = nullptr;
  prometheus::Histogram* whole_interrupts_ = nullptr;
  Counters* lost_ = nullptr;
  Counters* preemption_cost_ = nullptr;
  Counters* promises_ = nullptr;
  Counters* health_ = nullptr;
  Counters* denied_ = nullptr;
  Counters* answers_ = nullptr;
  Histograms* calls_ = nullptr;
  // In the order of Permissions(); null: not called yet.
  std::vector<std::atomic<prometheus::Histogram*>> calls_of_{Permissions().size()};
};

}  // namespace glim::server
