#include "tests/bench/brief_tasks.h"

#include <algorithm>
#include <utility>

namespace glim::bench {
namespace {

void Observe(const v1::AttemptRef& attempt, std::uint32_t index, bool ended, v1::ObservedTask* task) {
  *task->mutable_attempt() = attempt;
  task->set_index(index);
  task->set_phase(ended ? v1::ObservedTask::RELEASED : v1::ObservedTask::RUNNING);
  auto* rank = task->add_ranks();
  rank->set_rank(index);
  rank->set_step(-1);
  rank->set_hold(-1);
  rank->set_restored_step(-1);
  rank->set_exited(ended);
}

}  // namespace

void BriefTasks::TakeIn(const v1::DesiredState& desired) {
  std::vector<Known> tasks;
  for (const v1::DesiredTask& wanted : desired.tasks()) {
    const auto known = std::find_if(tasks_.begin(), tasks_.end(), [&](const Known& task) {
      return task.attempt.job_id() == wanted.attempt().job_id() && task.attempt.number() == wanted.attempt().number() &&
             task.index == wanted.index();
    });
    if (known != tasks_.end()) {
      tasks.push_back(*known);
      continue;
    }
    tasks.push_back({wanted.attempt(), wanted.index(), !running_first_});
    if (wanted.index() == 0) launched_jobs_->fetch_add(1, std::memory_order_relaxed);
  }
  tasks_ = std::move(tasks);  // what is no longer wanted had ended, and is forgotten
}

bool BriefTasks::Report(v1::NodeReport* report) {
  bool more = false;
  for (Known& known : tasks_) {
    const bool ended = std::exchange(known.told_running, true);
    Observe(known.attempt, known.index, ended, report->add_tasks());
    more = more || !ended;
  }
  return more;
}

}  // namespace glim::bench
