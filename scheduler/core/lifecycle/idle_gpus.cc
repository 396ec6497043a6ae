#include "scheduler/core/lifecycle/idle_gpus.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/lifecycle/agreement_machine.h"
#include "scheduler/core/lifecycle/job_machine.h"
#include "scheduler/core/lifecycle/watch_rules.h"
#include "sdk/base/duration_text.h"

namespace glim::core {
namespace {

bool AllGpusAreWatched(const Attempt& attempt, const Watched& watched) {
  return watched.tasks.size() >= attempt.nodes.size() &&
         std::all_of(watched.tasks.begin(), watched.tasks.end(),
                     [](const Watched::OfTask& task) { return static_cast<bool>(task.gpu_busy); });
}

// "1 h 30 min", "40 s"
std::string InMinutes(Duration duration) {
  const Duration unit = duration < Minutes(2) ? Seconds(1) : Minutes(1);
  return DurationText(unit * (duration.ms / unit.ms));
}

// "none of its 16 GPUs was busy for 1 h"
std::string NoneWasBusy(const Changes& changes, const Attempt& attempt, Duration idle) {
  const std::uint64_t gpus = std::uint64_t{changes.job(attempt.id.job).spec->gpus_per_node} * attempt.nodes.size();
  const std::string which = gpus == 1 ? "its GPU was not" : "none of its " + std::to_string(gpus) + " GPUs was";
  return which + " busy for " + InMinutes(idle);
}

void Warn(Changes& changes, AttemptId id, Watched& watched) {
  const IdleGpusPolicy& policy = changes.policy().health.idle_gpus;
  const TimePoint since = watched.gpu_last;
  const std::string give_back = "glim suspend " + std::to_string(id.job.value);
  std::string text = NoneWasBusy(changes, changes.attempt(id), changes.now() - since);
  if (policy.suspend_after.ms > 0) {
    text += "; by policy it is suspended in " + InMinutes(policy.suspend_after) + ", or give them back: ";
  } else {
    text += "; if it does not need them, give them back: ";
  }
  changes.EditAttempt(id, [&](Attempt& attempt) { attempt.gpus_idle_since = since; });
  changes.Note(HistoryKind::kAttemptGpusIdle, id, {}, text + give_back, {.took = changes.now() - since});
  // The policy may have been another one until now: what comes next counts from the warning.
  watched.gpu_last = changes.now() - policy.warn_after;
}

void SuspendIdle(Changes& changes, AttemptId id, const Watched& watched) {
  const std::string idle = NoneWasBusy(changes, changes.attempt(id), changes.now() - watched.gpu_last);
  AgreementRequest request;
  request.reason = SuspendReason("policy: " + idle + "; to go on: glim resume " + std::to_string(id.job.value));
  request.suspend = true;
  OpenAgreement(changes, id, request);
}

}  // namespace

void SeeGpus(Changes& changes, const ObservedTask& seen) {
  const AttemptId id = seen.id.attempt;
  Watched& watched = changes.watch().attempts.at(id);
  if (watched.tasks.size() <= seen.id.index) watched.tasks.resize(seen.id.index + 1);
  const TimePoint before = std::exchange(watched.tasks[seen.id.index].gpu_busy, seen.gpu_busy_at);
  if (!seen.gpu_busy_at) return;
  // An agent that was started anew goes back to the task's start: only what is later is news.
  const bool is_busy = before && before < seen.gpu_busy_at;
  if (is_busy || !before) watched.gpu_last = changes.now();
  const TimePoint idle_since = changes.attempt(id).gpus_idle_since;
  if (is_busy && idle_since) {
    changes.EditAttempt(id, [](Attempt& attempt) { attempt.gpus_idle_since = {}; });
    const Duration idle = changes.now() - idle_since;
    changes.Note(HistoryKind::kAttemptGpusBusy, id, {}, "its GPUs are used again after " + InMinutes(idle),
                 {.took = idle});
  }
  LookNoLater(changes, id, NextGpuLook(changes, id));
}

void JudgeGpus(Changes& changes, AttemptId id) {
  const Attempt* attempt = changes.state().FindAttempt(id);
  if (!attempt) return;
  Watched& watched = changes.watch().attempts.at(id);
  if (!watched.gpu_last) return;
  const bool is_user_s = !changes.job(id.job).validates;
  if (!is_user_s || !MayBeJudged(changes.state(), *attempt) || !AllGpusAreWatched(*attempt, watched)) {
    watched.gpu_last = changes.now();
    return;
  }
  watched.gpu_last = std::max(watched.gpu_last, std::min(changes.now(), RestoreBy(changes, *attempt)));
  const TimePoint due = GpusDue(changes, *attempt, watched);
  if (!due || changes.now() < due || !AllNodesAreHeard(changes, *attempt)) return;
  if (attempt->gpus_idle_since) return SuspendIdle(changes, id, watched);
  Warn(changes, id, watched);
}

}  // namespace glim::core
