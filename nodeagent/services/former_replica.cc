#include "nodeagent/services/former_replica.h"

#include <signal.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "nodeagent/os/processes.h"
#include "nodeagent/task/task_files.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {

void EndFormerReplica(const std::string& state_dir, const std::string& boot_id) {
  const std::string folder = state_dir + "/replica";
  const Result<std::string> text = ReadFile(folder + "/process.json", kStatusBytesMax);
  if (!text.ok()) {
    if (text.status().code() == StatusCode::kNotFound) return;
    return LogError("event=former_replica_unread error={}", Quoted(text.status().message()));
  }
  const Result<ProcessIdentity> noted = ParseProcessIdentity(*text);
  if (!noted.ok()) LogError("event=former_replica_unread error={}", Quoted(noted.status().message()));
  if (const UniqueFd process = noted.ok() ? OpenProcess(*noted, boot_id) : UniqueFd(); process) {
    // What it held is lost either way: nobody is told where it is any more. (Its number is its own while we look: the
    // signal goes by number and start.)
    const std::vector<ProcessInfo> below = Descendants(ListProcesses(), noted->pid);
    const bool ended = SignalProcess({noted->pid, 0, noted->start_ticks}, SIGKILL);
    for (const ProcessInfo& one : below) (void)SignalProcess(one, SIGKILL);
    LogWarning("event=former_replica_ended pid={} ended={} note=\"glim-replica is a unit of its own now\"", noted->pid,
               ended);
  }
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (error) LogError("event=former_replica_not_forgotten path={} error={}", Quoted(folder), Quoted(error.message()));
}

}  // namespace glim::nodeagent
