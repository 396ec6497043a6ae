#include "scheduler/core/lifecycle/hardware_restart.h"

#include <algorithm>

#include "scheduler/core/lifecycle/health_blame.h"
#include "scheduler/core/lifecycle/lost_contact.h"
#include "scheduler/core/model/attempt_tasks.h"

namespace glim::core {
namespace {

constexpr Duration kInARow = Hours(1);
constexpr Duration kPauseMax = Minutes(10);

// `failures`: in a row.
Duration PauseOf(const JobSpec& spec, std::uint32_t failures) {
  if (failures <= 1) return {};
  Duration pause = spec.restart_backoff;
  const Duration most = std::max(pause, kPauseMax);
  for (std::uint32_t i = 2; i < failures && pause.ms > 0 && pause < most; ++i) pause = pause + pause;
  return std::min(pause, most);
}

void LeaveOutWhereLost(Changes& changes, const Attempt& ended) {
  for (const Task* task : TasksOf(changes.state(), ended.id)) {
    if (task->lost) LeaveOut(changes, task->node, "a task of job " + ToString(ended.id) + " was lost there");
  }
}

}  // namespace

std::string_view RestartCauseOf(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNodeFailure: return "node_failure";
    case Outcome::kGpuFailure: return "xid";
    case Outcome::kNetwork: return "network";
    case Outcome::kHang: return "hang";
    default: return "";
  }
}

HardwareRestart CountHardwareFailure(Changes& changes, const Attempt& ended) {
  LeaveOutWhereLost(changes, ended);
  // Nobody knows which node the others did not reach: this job alone goes elsewhere.
  const LostContact lost = ended.outcome == Outcome::kNetwork ? LostContactOf(changes.state(), ended) : LostContact{};
  std::uint32_t restarts = 0, failures = 0;
  changes.EditJob(ended.id.job, [&](Job& job) {
    ++job.restarts;
    restarts = ++job.restarts_since_save;
    const bool in_a_row = job.hardware_failed_at && changes.now() <= job.hardware_failed_at + kInARow;
    failures = job.hardware_failures = in_a_row ? job.hardware_failures + 1 : 1;
    job.hardware_failed_at = changes.now();
    job.message = ended.message;
    if (!lost.nodes.empty()) job.moved_off = lost.nodes;
  });
  const JobSpec& spec = *changes.job(ended.id.job).spec;
  const std::string_view cause = RestartCauseOf(ended.outcome);
  if (std::find(spec.restart_on.begin(), spec.restart_on.end(), cause) == spec.restart_on.end()) {
    return {"restart.on does not list " + std::string(cause), {}};
  }
  if (restarts > spec.restart_max) {
    return {"restart.max is reached: " + std::to_string(spec.restart_max) + " without a durable save in between", {}};
  }
  const Duration pause = PauseOf(spec, failures);
  return {"", pause.ms > 0 ? changes.now() + pause : TimePoint{}};
}

}  // namespace glim::core
