// SnapshotGauges: what is counted from the newest snapshot when a scrape comes: no series for a node, a user or a job.
//
// Any thread. The loop and the limits outlive it.
//
// Sources: snapshot_gauges.cc, job_figures.cc, node_figures.cc, health_figures.cc
#pragma once

#include <prometheus/collectable.h>

#include <mutex>
#include <vector>

#include "scheduler/server/limits/caller_limits.h"
#include "scheduler/server/loop/scheduler_loop.h"
#include "scheduler/server/metrics/families.h"
#include "scheduler/server/metrics/rising_totals.h"

namespace glim::server {

class SnapshotGauges final : public prometheus::Collectable {
 public:
  SnapshotGauges(const SchedulerLoop* loop, const CallerLimits* limits);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const SchedulerLoop* const loop_;
  const CallerLimits* const limits_;
  mutable std::mutex mutex_;  // guards what follows
  mutable RisingTotals gpu_ms_;
};

// The parts of it, from one snapshot. Pure.
void AddJobFigures(const Snapshot& snapshot, TimePoint now, Families* families);
void AddNodeFigures(const Snapshot& snapshot, TimePoint now, Families* families);
void AddHealthFigures(const Snapshot& snapshot, Families* families);
void AddGpuFigures(const Snapshot& snapshot, const core::UseTotals& grown_gpu_ms, Families* families);
void AddSchedulerFigures(const Snapshot& snapshot, std::size_t waiting, Families* families);
void AddLimitFigures(const CallerLimits& limits, Families* families);

// Of all nodes until then, productive time with what of it was lost: it never falls while no node is removed.
core::UseTotals GrossUses(const Snapshot& snapshot, TimePoint now);

}  // namespace glim::server
