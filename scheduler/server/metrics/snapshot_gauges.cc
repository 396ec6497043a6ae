#include "scheduler/server/metrics/snapshot_gauges.h"

#include <map>
#include <string>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/protocol.h"
#include "scheduler/server/listen/refused_handshakes.h"
#include "scheduler/server/metrics/process_gauges.h"

namespace glim::server {
namespace {

prometheus::MetricFamily RefusedByTls() {
  auto family = CounterFamily("glim_tls_refused_total",
                              "Connections to the agents' port that TLS refused for their certificate.");
  const RefusedHandshakes counted = CountedHandshakes();
  AddValue(&family, {{"reason", "no_certificate"}}, static_cast<double>(counted.no_certificate));
  AddValue(&family, {{"reason", "bad_certificate"}}, static_cast<double>(counted.bad_certificate));
  return family;
}

double GpuSeconds(std::int64_t gpu_ms) { return static_cast<double>(gpu_ms) / 1000.0; }

}  // namespace

SnapshotGauges::SnapshotGauges(const SchedulerLoop* loop, const CallerLimits* limits)
    : loop_(loop), limits_(limits), gpu_ms_(GrossUses(*loop->snapshot(), loop->Now())) {}

std::vector<prometheus::MetricFamily> SnapshotGauges::Collect() const {
  Families families;
  {
    // One after the other, or an older snapshot might come behind a newer one.
    std::lock_guard lock(mutex_);
    const SnapshotPtr snapshot = loop_->snapshot();
    const TimePoint now = loop_->Now();
    AddJobFigures(*snapshot, now, &families);
    AddNodeFigures(*snapshot, now, &families);
    AddHealthFigures(*snapshot, &families);
    AddGpuFigures(*snapshot, gpu_ms_.Follow(GrossUses(*snapshot, now)), &families);
    AddSchedulerFigures(*snapshot, loop_->waiting(), &families);
  }
  AddLimitFigures(*limits_, &families);
  families.push_back(RefusedByTls());
  AddProcessFigures(&families);
  return families;
}

core::UseTotals GrossUses(const Snapshot& snapshot, TimePoint now) {
  core::UseTotals uses = snapshot.counts->UsesUntil(now);
  uses[static_cast<std::size_t>(core::Use::kProductive)] += uses[static_cast<std::size_t>(core::Use::kLost)];
  return uses;
}

void AddGpuFigures(const Snapshot& snapshot, const core::UseTotals& grown_gpu_ms, Families* families) {
  auto present = GaugeFamily("glim_gpus", "GPUs of registered nodes, by what they are used for now.");
  auto grown = CounterFamily("glim_gpu_seconds_total",
                             "GPU time of all nodes since this scheduler began, by its use. Productive time counts "
                             "here also when it is lost later: glim_lost_gpu_seconds_total has what of it was.");
  for (std::size_t i = 0; i < core::kUses; ++i) {
    const auto use = static_cast<core::Use>(i);
    if (use == core::Use::kLost) continue;  // a judgement on what was productive, and no use of its own
    AddValue(&present, {{"use", core::ToString(use)}}, static_cast<double>(snapshot.counts->gpus.at(i)));
    AddValue(&grown, {{"use", core::ToString(use)}}, GpuSeconds(grown_gpu_ms.at(i)));
  }
  families->push_back(std::move(present));
  families->push_back(std::move(grown));
}

void AddSchedulerFigures(const Snapshot& snapshot, std::size_t waiting, Families* families) {
  auto build = GaugeFamily("glim_build_info", "1, with the version as a label.");
  AddValue(&build, {{"version", kVersion}}, 1);
  families->push_back(std::move(build));
  families->push_back(OneGauge("glim_leader", "1: this scheduler leads. It ends when another one does.", 1));
  families->push_back(
      OneGauge("glim_leader_epoch", "The fencing number of this leader.", static_cast<double>(snapshot.epoch)));
  families->push_back(
      OneGauge("glim_outage", "1 while so many nodes are silent that none is declared lost.", snapshot.outage ? 1 : 0));
  families->push_back(OneGauge("glim_store_away",
                               "1 while the database cannot be reached, or has no room: nothing can be changed.",
                               snapshot.stale_since ? 1 : 0));
  families->push_back(OneGauge("glim_events_waiting", "Events that wait for the scheduler's next batch.",
                               static_cast<double>(waiting)));
}

void AddLimitFigures(const CallerLimits& limits, Families* families) {
  const CallerLimits::Figures figures = limits.figures();
  auto held = GaugeFamily("glim_calls_held",
                          "What all callers hold together of what is bounded: calls that are not over, streams of logs "
                          "and events, questions to the store, agents' streams.");
  auto most = GaugeFamily("glim_calls_held_max", "The most that all callers together may hold.");
  auto refused = CounterFamily("glim_refused_calls_total",
                               "Calls and streams that a bound refused: which bound, and whether the user's, the "
                               "peer's or that of all together.");
  for (std::size_t i = 0; i < kBounds; ++i) {
    const auto bound = static_cast<Bound>(i);
    for (const BoundOf of : {BoundOf::kUser, BoundOf::kPeer, BoundOf::kAll}) {
      AddValue(&refused, {{"bound", KeyOf(bound)}, {"of", KeyOf(of)}},
               static_cast<double>(figures.refused.at(static_cast<std::size_t>(of)).at(i)));
    }
    if (IsRate(bound) || bound == Bound::kBytes) continue;  // a rate; a unit of its own
    AddValue(&held, {{"bound", KeyOf(bound)}}, static_cast<double>(figures.held.at(i)));
    AddValue(&most, {{"bound", KeyOf(bound)}}, static_cast<double>(limits.bounds().At(BoundOf::kAll, bound)));
  }
  families->push_back(std::move(held));
  families->push_back(std::move(most));
  families->push_back(std::move(refused));
  families->push_back(OneGauge("glim_calls_held_bytes", "Requests that wait and answers that have not been taken.",
                               static_cast<double>(figures.held.at(static_cast<std::size_t>(Bound::kBytes)))));
}

}  // namespace glim::server
