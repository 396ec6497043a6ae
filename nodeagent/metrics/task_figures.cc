#include "nodeagent/metrics/task_figures.h"

#include <utility>

namespace glim::nodeagent {
namespace {

using v1::ObservedTask;

const prometheus::Histogram::BucketBoundaries kSeconds = {0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

const char* WordOf(int phase) {
  switch (phase) {
    case ObservedTask::STARTING: return "starting";
    case ObservedTask::RUNNING: return "running";
    case ObservedTask::EXITED: return "exited";
    default: return "released";
  }
}

prometheus::Histogram* HistogramOf(prometheus::Registry* registry, const char* name, const char* help) {
  return &prometheus::BuildHistogram().Name(name).Help(help).Register(*registry).Add({}, kSeconds);
}

}  // namespace

TaskFigures::TaskFigures(prometheus::Registry* registry) {
  auto& tasks = prometheus::BuildGauge()
                    .Name("glim_agent_tasks")
                    .Help("Tasks on this node, by phase; released ones until the scheduler has heard of it.")
                    .Register(*registry);
  for (int phase = 0; phase < kPhases; ++phase) {
    tasks_.at(static_cast<std::size_t>(phase)) = &tasks.Add({{"phase", WordOf(phase)}});
  }
  starts_ = HistogramOf(registry, "glim_agent_task_start_seconds",
                        "Starts of tasks: from when the agent began until all ranks run.");
  ends_ = HistogramOf(registry, "glim_agent_task_release_seconds",
                      "From when a task's ranks had ended until nothing of it was on the node.");
  auto& failed = prometheus::BuildCounter()
                     .Name("glim_agent_task_failures_total")
                     .Help("Tasks that did not start, or that nobody vouches for any more.")
                     .Register(*registry);
  started_failed_ = &failed.Add({{"kind", "start"}});
  lost_ = &failed.Add({{"kind", "lost"}});
  faults_ = &prometheus::BuildGauge()
                 .Name("glim_agent_faults")
                 .Help("What the agent finds wrong with its node now: no job starts there.")
                 .Register(*registry)
                 .Add({});
}

void TaskFigures::Moved(const ObservedTask& task, const Seen& before, TimePoint now) {
  const bool known = before.since.ms != 0;
  const double seconds = static_cast<double>((now - before.since).ms) / 1000.0;
  if (task.phase() == ObservedTask::RUNNING && before.phase == ObservedTask::STARTING && known) {
    starts_->Observe(seconds);
  }
  if (task.phase() == ObservedTask::RELEASED && before.phase == ObservedTask::EXITED && known) {
    ends_->Observe(seconds);
  }
}

void TaskFigures::Look(const v1::NodeReport& report, TimePoint now) {
  std::array<double, kPhases> counts{};
  std::map<Key, Seen> present;
  for (const ObservedTask& task : report.tasks()) {
    const int phase = task.phase();
    if (phase >= 0 && phase < kPhases) counts.at(static_cast<std::size_t>(phase)) += 1;
    const Key key{task.attempt().job_id(), task.attempt().number(), task.index()};
    const auto old = seen_.find(key);
    const bool is_new = old == seen_.end();
    Seen next = is_new ? Seen{task.phase(), looked_ ? now : TimePoint()} : old->second;
    if (!is_new && task.phase() != next.phase) {
      Moved(task, next, now);
      next = {task.phase(), now};
      if (task.phase() == ObservedTask::RELEASED && task.start_failed()) started_failed_->Increment();
      if (task.phase() == ObservedTask::RELEASED && task.lost()) lost_->Increment();
    }
    if (is_new && looked_ && task.phase() == ObservedTask::RELEASED && task.start_failed())
      started_failed_->Increment();
    present.emplace(key, next);
  }
  seen_ = std::move(present);
  looked_ = true;
  for (std::size_t i = 0; i < counts.size(); ++i) tasks_.at(i)->Set(counts.at(i));
  faults_->Set(report.faults_size());
}

}  // namespace glim::nodeagent
