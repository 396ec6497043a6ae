#include "scheduler/sim/trace/trace_history.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "scheduler/core/model/enum_words.h"
#include "scheduler/sim/trace/trace_figures.h"

namespace glim::sim {
namespace {

constexpr Duration kWholeDay = Hours(24);
constexpr double kMsPerHour = 3'600'000;

double InThousandths(double value) { return std::round(value * 1e3) / 1e3; }
double InMillionths(double value) { return std::round(value * 1e6) / 1e6; }
double Part(double part, double whole) { return whole > 0 ? InMillionths(part / whole) : 0; }

nlohmann::ordered_json Waits(std::vector<double> waits) {
  const double sum = std::accumulate(waits.begin(), waits.end(), 0.0);
  nlohmann::ordered_json json;
  json["jobs"] = waits.size();
  json["wait_p50_s"] = Percentile(waits, 0.5);
  json["wait_p99_s"] = Percentile(waits, 0.99);
  json["wait_mean_s"] = waits.empty() ? 0 : InThousandths(sum / static_cast<double>(waits.size()));
  return json;
}

}  // namespace

nlohmann::ordered_json ClassFiguresOf(const TraceOutcome& outcome) {
  std::vector<double> all;
  std::map<core::PriorityClass, std::vector<double>> by_class;
  for (const TracedJob& job : outcome.jobs) {
    if (!job.ended || !job.counted) continue;
    const double wait = static_cast<double>((job.ended - job.submitted - job.duration).ms) / 1000;
    all.push_back(wait);
    by_class[job.priority].push_back(wait);
  }
  nlohmann::ordered_json json;
  json["all"] = Waits(std::move(all));
  for (auto& [priority, waits] : by_class) json[core::ToString(priority)] = Waits(std::move(waits));
  return json;
}

nlohmann::ordered_json HistoryFiguresOf(const TraceOutcome& outcome, std::uint32_t nodes) {
  std::int64_t useful = 0;
  for (const TracedJob& job : outcome.jobs) useful += job.ended ? job.duration.ms * job.nodes : 0;
  const Duration makespan = outcome.end - outcome.first_submit;
  nlohmann::ordered_json json;
  json["classes"] = ClassFiguresOf(outcome);
  json["refused"] = outcome.refused;
  json["interrupts"] = outcome.interrupts;
  json["lost_gpu_hours"] = InThousandths(static_cast<double>(outcome.overhead_gpu_ms) / kMsPerHour);
  json["utilisation"] = Part(static_cast<double>(outcome.busy_node_ms), static_cast<double>(makespan.ms) * nodes);
  json["goodput"] = Part(static_cast<double>(useful), static_cast<double>(outcome.busy_node_ms));
  json["makespan_s"] = static_cast<double>(makespan.ms) / 1000;
  return json;
}

std::vector<TraceJob> DrawDays(const std::vector<TraceJob>& trace, std::uint32_t days, std::uint64_t seed) {
  std::vector<std::vector<const TraceJob*>> of_day(days);
  std::vector<TraceJob> drawn;
  for (const TraceJob& job : trace) {
    if (!job.counted) {
      drawn.push_back(job);
      continue;
    }
    const auto day = static_cast<std::size_t>(job.submit.ms / kWholeDay.ms);
    of_day[std::min<std::size_t>(day, days - 1)].push_back(&job);
  }
  Rng rng(seed);
  for (std::uint32_t at = 0; at < days; ++at) {
    const auto from = rng.Between(0, std::int64_t{days} - 1);
    for (const TraceJob* job : of_day[static_cast<std::size_t>(from)]) {
      drawn.push_back(*job);
      drawn.back().submit = job->submit + kWholeDay * (std::int64_t{at} - from);
    }
  }
  std::stable_sort(drawn.begin(), drawn.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.submit < b.submit; });
  return drawn;
}

}  // namespace glim::sim
