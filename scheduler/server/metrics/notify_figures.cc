#include "scheduler/server/metrics/notify_figures.h"

#include <cstddef>

#include "scheduler/server/metrics/families.h"

namespace glim::server {

std::vector<prometheus::MetricFamily> NotifyFigures::Collect() const {
  prometheus::MetricFamily total = CounterFamily(
      "glim_notifications_total",
      "Notifications by what came of a try: delivered, retried (later), dropped (given up), skipped (the policy does "
      "not name the target any more).");
  for (std::size_t kind = 0; kind < notify::kTargetKindWords.size(); ++kind) {
    for (std::size_t outcome = 0; outcome < notify::kOutcomeWords.size(); ++outcome) {
      AddValue(&total,
               {{"target_kind", notify::kTargetKindWords.at(kind)}, {"outcome", notify::kOutcomeWords.at(outcome)}},
               static_cast<double>(figures_->total.at(kind).at(outcome).load()));
    }
  }
  return {total,
          OneGauge("glim_notifications_waiting", "Notifications that wait to be sent, or to be tried again.",
                   static_cast<double>(figures_->waiting.load())),
          OneGauge("glim_notifications_oldest_seconds",
                   "How long ago what the oldest notification that waits tells of happened; 0: none waits.",
                   static_cast<double>(figures_->oldest_ms()) / 1000)};
}

}  // namespace glim::server
