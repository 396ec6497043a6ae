// SnapshotGauges: jobs, and the attempts that run.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/server/convert/row_convert.h"
#include "scheduler/server/metrics/snapshot_gauges.h"

namespace glim::server {
namespace {

using Counts = std::map<std::pair<std::string, std::string>, std::uint64_t>;

prometheus::MetricFamily Pending(const Snapshot& snapshot, TimePoint now) {
  static constexpr std::int64_t kQueuedGroup = 1;
  static constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  Counts counts;
  const auto count = [&](const core::JobPlace& place, const core::Job& job) {
    if (place.group != kQueuedGroup) return false;
    ++counts[{job.spec->pool, core::ToString(MainReasonOf(snapshot, job, now))}];
    return true;
  };
  snapshot.tables.listed.VisitFrom({kQueuedGroup, kFirst, kFirst, kFirst, kFirst}, count);
  auto family = GaugeFamily("glim_pending_jobs", "Queued jobs, by the main reason why each of them waits.");
  for (const auto& [key, number] : counts) {
    AddValue(&family, {{"pool", key.first}, {"reason", key.second}}, static_cast<double>(number));
  }
  return family;
}

// Each once, by the nodes that they hold: there are far more rows of attempts.
template <typename F>
void ForEachRunning(const Snapshot& snapshot, F f) {
  std::set<core::AttemptId> seen;
  snapshot.tables.nodes.ForEach([&](core::NodeId, const core::Node& node) {
    const core::Attempt* const attempt = node.holder ? snapshot.tables.attempts.Find(node.holder) : nullptr;
    if (attempt == nullptr || attempt->state != core::AttemptState::kRunning) return;
    if (seen.insert(attempt->id).second) f(*attempt);
  });
}

// How long ago running attempts were saved last, or began to run if they were not.
prometheus::MetricFamily CheckpointAges(const Snapshot& snapshot, TimePoint now) {
  std::vector<double> ages;
  ForEachRunning(snapshot, [&](const core::Attempt& attempt) {
    const TimePoint since = std::max(attempt.durable_at, attempt.running_at);
    ages.push_back(static_cast<double>(std::max<std::int64_t>(0, (now - since).ms)) / 1000.0);
  });
  return SpreadFamily("glim_checkpoint_age_seconds",
                      "How long ago running attempts were last saved durably, or began to run if they were not, jobs "
                      "that never save among them.",
                      std::move(ages));
}

prometheus::MetricFamily GpusIdle(const Snapshot& snapshot) {
  double idle = 0;
  ForEachRunning(snapshot, [&](const core::Attempt& attempt) { idle += attempt.gpus_idle_since ? 1 : 0; });
  return OneGauge("glim_attempts_gpus_idle",
                  "Running attempts none of whose GPUs has been busy for the policy's health.idle_gpus.warn_after.",
                  idle);
}

prometheus::MetricFamily SavesFailing(const Snapshot& snapshot) {
  double failing = 0;
  ForEachRunning(snapshot, [&](const core::Attempt& attempt) { failing += attempt.save_failure.count > 0 ? 1 : 0; });
  return OneGauge("glim_attempts_saves_failing", "Running attempts whose newest save could not be made.", failing);
}

}  // namespace

void AddJobFigures(const Snapshot& snapshot, TimePoint now, Families* families) {
  auto jobs = GaugeFamily("glim_jobs", "Jobs that the scheduler keeps, ended ones for a while among them, by state.");
  for (const auto& [key, count] : snapshot.counts->jobs) {
    AddValue(&jobs, {{"pool", key.first}, {"state", core::ToString(key.second)}}, static_cast<double>(count));
  }
  families->push_back(std::move(jobs));
  families->push_back(Pending(snapshot, now));
  families->push_back(CheckpointAges(snapshot, now));
  families->push_back(GpusIdle(snapshot));
  families->push_back(SavesFailing(snapshot));
}

}  // namespace glim::server
