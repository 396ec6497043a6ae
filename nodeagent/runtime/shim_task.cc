#include "nodeagent/runtime/shim_task.h"

#include <signal.h>

#include <utility>

#include "nodeagent/os/unified_group.h"
#include "nodeagent/task/sealed_file.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {

bool ShimTask::ReadStatus() {
  if (shim_gone) return false;
  const Result<std::string> text = ReadFile(paths.status(), kStatusBytesMax);
  if (!text.ok() || *text == status_text || !CheckSeal(paths.status(), *text).ok()) return false;
  Result<TaskStatus> read = ParseTaskStatus(*text);
  if (!read.ok()) return false;
  status_text = *text;
  status = std::move(*read);
  AddCauses(spec, status, &causes);
  return true;
}

void ShimTask::ReadGpusBefore() {
  if (spec.gpus == 0) return;
  const Result<std::string> before = ReadSealed(paths.gpus(), kStatusBytesMax);
  if (before.ok()) gpus_before = *before;
}

bool ShimTask::IsPopulated(const std::string& boot_id, ProcessCensus& census, std::size_t max,
                           std::vector<pid_t>* pids) const {
  pids->clear();
  if (!spec.group.empty()) {
    if (LookAtGroup(spec.group) != GroupState::kPopulated) return false;
    *pids = GroupMembers(spec.group, max);
    return true;
  }
  if (IsOfAnotherBoot(boot_id)) return false;
  // By the socket's path, not GLIM_TASK: two clusters on one machine have tasks of the same number.
  for (const ProcessInfo& process : census.Of(paths.socket(), shim.is_open() ? identity.pid : 0, users())) {
    if (pids->size() < max) pids->push_back(process.pid);
  }
  if (NobodyCounted()) {
    std::set<pid_t> known(pids->begin(), pids->end());
    for (const ProcessInfo& process : census.BegunSince(identity.start_ticks, paths.socket(), users())) {
      if (pids->size() < max && known.insert(process.pid).second) pids->push_back(process.pid);
    }
  }
  return !pids->empty();
}

void ShimTask::SignalLeftovers(const std::string& boot_id, ProcessCensus& census, int signal) const {
  if (!spec.group.empty()) return signal == SIGKILL ? KillGroup(spec.group) : SignalGroup(spec.group, signal);
  if (IsOfAnotherBoot(boot_id)) return;
  for (const ProcessInfo& process : census.Of(paths.socket(), shim.is_open() ? identity.pid : 0, users())) {
    SignalProcess(process, signal);
  }
}

Inspection ShimTask::Inspect(const std::string& boot_id) const {
  Inspection result;
  result.phase = released                    ? Phase::kReleased
                 : shim_gone || all_exited() ? Phase::kExited
                 : status.started            ? Phase::kRunning
                                             : Phase::kStarting;
  result.controllable = shim.is_open() || shim_gone || !broken.empty();
  result.start_failed = status.start_failed;
  result.fault = status.fault;
  result.ended = shim_gone;
  result.lost = lost();
  result.exit_code = status.exit_code;
  result.out_of_memory = status.out_of_memory;
  result.message = status.message;
  if (lost()) {
    result.message = identity.boot_id == boot_id ? "the task's supervisor was killed: how its ranks ended is not known"
                                                 : "the node was started anew while the task ran";
    if (NobodyCounted() && !pids.empty()) {
      result.message +=
          "; any process of this user that began after it may be its own: the node is free when they "
          "have ended";
    }
  }
  if (!broken.empty()) result.message = broken;
  if (!released && gpu_busy && !gpus_left.empty()) result.message = gpus_left.evidence;
  result.first_output_ms = status.first_output_ms;
  result.ranks = status.ranks;
  result.causes = causes;
  if (!condemned.empty()) {
    result.message = condemned;
    for (const RankStatus& rank : status.ranks) {
      if (rank.exit_code != 0) result.causes[rank.rank] = condemned;
    }
  }
  if (!late.empty()) {
    if (!released) result.phase = Phase::kExited;
    result.lost = false;
    result.start_failed = true;
    result.fault = StartFault::kNode;
    result.message = late;
    result.hung_path = spec.workdir;
  }
  result.pids = pids;
  if (!released && gpu_busy) result.pids.insert(result.pids.end(), gpus_left.pids.begin(), gpus_left.pids.end());
  return result;
}

}  // namespace glim::nodeagent
