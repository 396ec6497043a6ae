#include "nodeagent/runtime/shim_task.h"

#include <set>
#include <utility>

#include "sdk/io/read_file.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {

bool ShimTask::ReadStatus() {
  if (shim_gone) return false;
  const Result<std::string> text = ReadFile(paths.status(), kStatusBytesMax);
  if (!text.ok() || *text == status_text) return false;
  Result<TaskStatus> read = ParseTaskStatus(*text);
  if (!read.ok()) return false;
  status_text = *text;
  status = std::move(*read);
  AddCauses(spec, status, &causes);
  return true;
}

std::vector<ProcessInfo> ShimTask::Find(const std::string& boot_id) const {
  // After a reboot nothing of it can be there, and a pid would be somebody else's.
  if (!identity.boot_id.empty() && identity.boot_id != boot_id) return {};
  const std::vector<ProcessInfo> all = ListProcesses();
  // The socket's path, not GLIM_TASK: two clusters on one machine have tasks of the same number.
  std::vector<ProcessInfo> found = Marked(all, AssignmentOf(TaskVariable::kSocket, paths.socket()));
  std::set<pid_t> known;
  for (const ProcessInfo& process : found) known.insert(process.pid);
  if (shim.is_open()) {
    for (const ProcessInfo& process : Descendants(all, identity.pid)) {
      if (known.insert(process.pid).second) found.push_back(process);
    }
  }
  return found;
}

void ShimTask::SignalLeftovers(const std::string& boot_id, int signal) const {
  for (const ProcessInfo& process : Find(boot_id)) SignalProcess(process, signal);
}

Inspection ShimTask::Inspect(const std::string& boot_id) const {
  Inspection result;
  result.phase = released                    ? Phase::kReleased
                 : shim_gone || all_exited() ? Phase::kExited
                 : status.started            ? Phase::kRunning
                                             : Phase::kStarting;
  result.controllable = shim.is_open() || shim_gone;
  result.start_failed = status.start_failed;
  result.fault = status.fault;
  result.ended = shim_gone;
  result.lost = lost();
  result.exit_code = status.exit_code;
  result.message = status.message;
  if (lost()) {
    result.message = identity.boot_id == boot_id ? "the task's supervisor was killed: how its ranks ended is not known"
                                                 : "the node was started anew while the task ran";
  }
  if (!released && gpu_busy) result.message = "its processes are gone, but GPU memory is still in use";
  result.first_output_ms = status.first_output_ms;
  result.ranks = status.ranks;
  result.causes = causes;
  result.pids = pids;
  return result;
}

}  // namespace glim::nodeagent
