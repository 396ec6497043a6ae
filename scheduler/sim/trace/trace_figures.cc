#include "scheduler/sim/trace/trace_figures.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace glim::sim {
namespace {

constexpr double kSlowdownFloorS = 600;  // of the durations: shorter jobs would count for too much

double ToSeconds(Duration d) { return static_cast<double>(d.ms) / 1000; }

// The bytes shall not depend on the last bit of a division.

double Micro(double value) { return std::round(value * 1e6) / 1e6; }
double Milli(double value) { return std::round(value * 1e3) / 1e3; }

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Share(std::int64_t part, double whole) { return whole > 0 ? static_cast<double>(part) / whole : 0; }

struct OfJobs {
  std::vector<double> jct, queue, slowdown, wait;
  std::int64_t useful_node_ms = 0;
};

OfJobs Collect(const TraceOutcome& outcome) {
  OfJobs of;
  for (const TracedJob& job : outcome.jobs) {
    if (!job.ended) continue;
    of.useful_node_ms += job.duration.ms * job.nodes;
    if (!job.counted) continue;
    const double jct = ToSeconds(job.ended - job.submitted), duration = ToSeconds(job.duration);
    of.jct.push_back(jct);
    of.queue.push_back(ToSeconds(job.ended - job.submitted - job.duration));
    of.slowdown.push_back(std::max(1.0, jct / std::max(duration, kSlowdownFloorS)));
    of.wait.push_back(ToSeconds(job.longest_wait));
  }
  return of;
}

}  // namespace

double Percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  // 0.999 x 1000 is a little more than 999.
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()) - 1e-9));
  return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
}

nlohmann::ordered_json FiguresOf(const TraceOutcome& outcome, std::uint32_t nodes, double wall_s) {
  OfJobs of = Collect(outcome);
  const Duration makespan = outcome.end - outcome.first_submit;
  const Duration submitting = outcome.last_submit - outcome.first_submit;
  const auto busy = static_cast<double>(outcome.busy_node_ms);
  nlohmann::ordered_json json;
  json["jobs"] = of.jct.size();
  json["refused"] = outcome.refused;
  json["jct_mean_s"] = Milli(Mean(of.jct));
  json["queue_mean_s"] = Milli(Mean(of.queue));
  json["queue_p50_s"] = Percentile(of.queue, 0.5);
  json["queue_p90_s"] = Percentile(of.queue, 0.9);
  json["queue_p99_s"] = Percentile(of.queue, 0.99);
  json["queue_p999_s"] = Percentile(of.queue, 0.999);
  json["slowdown_mean"] = Micro(Mean(of.slowdown));
  json["slowdown_p999"] = Micro(Percentile(of.slowdown, 0.999));
  json["wait_p999_s"] = Percentile(of.wait, 0.999);
  json["wait_max_s"] = Percentile(of.wait, 1);
  json["promises_broken"] =
      std::count_if(outcome.jobs.begin(), outcome.jobs.end(), [](const TracedJob& job) { return job.promise_broken; });
  json["util_until_last_submit"] =
      Micro(Share(outcome.busy_until_last_submit_node_ms, static_cast<double>(submitting.ms) * nodes));
  const double submitting_node_ms = static_cast<double>(submitting.ms) * nodes;
  json["idle_while_fit_fraction"] = Micro(Share(outcome.idle_while_fit_node_ms, submitting_node_ms));
  json["backfill_hold_idle_fraction"] = Micro(Share(outcome.backfill_hold_idle_node_ms, submitting_node_ms));
  json["util_makespan"] = Micro(Share(outcome.busy_node_ms, static_cast<double>(makespan.ms) * nodes));
  json["makespan_s"] = ToSeconds(makespan);
  json["interrupts"] = outcome.interrupts;
  json["node_failures"] = outcome.node_failures;
  json["thrown_back"] = outcome.thrown_back;
  json["checkpoint_overhead_fraction"] = Micro(Share(outcome.restore_node_ms, busy));
  json["lost_fraction"] = Micro(Share(outcome.lost_node_ms, busy));
  json["goodput_fraction"] = Micro(Share(of.useful_node_ms, busy));
  json["cross_zone_allocations_max"] = outcome.cross_zone_allocations_max;
  json["invariant_violations"] = outcome.violations;
  json["batches"] = outcome.batches;
  json["passes"] = outcome.pass_us.size();
  if (wall_s < 0) return json;
  std::vector<double> pass_us = outcome.pass_us;
  json["pass_us_p50"] = std::round(Percentile(pass_us, 0.5));
  json["pass_us_p99"] = std::round(Percentile(pass_us, 0.99));
  json["wall_s"] = Milli(wall_s);
  return json;
}

nlohmann::ordered_json CalibrationOf(const std::vector<AskedEstimate>& asked) {
  std::uint64_t unknown = 0;
  std::int64_t within = 0, early = 0, late = 0;
  std::vector<double> widths;
  for (const auto& [estimate, started] : asked) {
    if (!estimate.unknown.empty()) ++unknown;
    if (!estimate.unknown.empty() || !started) continue;
    widths.push_back(ToSeconds(estimate.latest - estimate.earliest));
    ++(started < estimate.earliest ? early : started > estimate.latest ? late : within);
  }
  const auto known = static_cast<double>(widths.size());
  nlohmann::ordered_json json;
  json["estimates_asked"] = asked.size();
  json["estimates_unknown"] = unknown;
  json["estimates_within_fraction"] = Micro(Share(within, known));
  json["estimates_early_fraction"] = Micro(Share(early, known));
  json["estimates_late_fraction"] = Micro(Share(late, known));
  json["estimate_width_median_s"] = Percentile(widths, 0.5);
  return json;
}

}  // namespace glim::sim
