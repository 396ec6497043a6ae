// The shim: what stands between a node's agent and a task's processes, and outlives the agent.
//
// It is the child subreaper of the task (a daemon that forks twice comes back to it), owns the pipes into which the
// ranks write and the log files, and writes each exit down before anybody is told. It ends when the last descendant
// has ended. One thread, one poll loop, nothing to wait for but descriptors. Where the task has a container, that
// container's first process starts and reaps the ranks and tells the shim; all else is the same.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/programs/init/rank_process.h"
#include "nodeagent/programs/shim/container.h"
#include "nodeagent/programs/shim/leave_request.h"
#include "nodeagent/task/log_files.h"
#include "nodeagent/task/task_files.h"
#include "sdk/io/spare_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {

class Shim {
 public:
  // Every signal must be blocked already.
  Shim(TaskPaths paths, LaunchSpec spec);

  // Starts the ranks and stays until all is over. A Status that is not OK is about the shim itself.
  Status Run();

 private:
  struct Rank {
    LogWriter log;
    RankProcess process;
  };

  Status Start();
  void StartRanks();
  Status OpenLogs();
  void StartContainer();
  void HandleSignals();
  void Reap();
  void NoteExit(std::size_t index, int wait_status);
  bool NoteContainerExits();
  void NoteMemoryKills(const std::vector<std::size_t>& exited);
  void EndContainer();
  void ReadOutput(Rank& rank);
  bool Drained() const;
  std::vector<ProcessInfo> TaskProcesses() const;
  void SignalAll(int signal);
  int PauseMs() const;
  void KillAgain();
  void AskToLeave(const SignalOrder& order);
  void NoteFirstOutput();
  void SaveStatus();
  void SaveLastStatus();

  const TaskPaths paths_;
  const LaunchSpec spec_;
  UniqueFd signals_;
  std::vector<Rank> ranks_;
  std::unique_ptr<Container> container_;  // null: plain processes
  TaskStatus status_;
  SpareFile spare_;       // for the status, on a full disk
  SpareFile last_spare_;  // for the last one alone: what ranks fill at once may take the room of an earlier one
  bool unsaved_ = false;  // the status file does not say all that is known
  std::optional<LeaveRequest> request_;  // the newest
  bool killing_ = false;
  std::int64_t next_kill_ms_ = 0;  // on the clock of NowTicks; while killing
  std::int64_t kill_pause_ms_ = 0;
  int memory_kills_ = 0;  // as last counted
  bool childless_ = false;
};

// Writes down that nothing could be started, for a launch file that cannot be read.
Status ReportUnstartable(const TaskPaths& paths, const std::string& message);

}  // namespace glim::nodeagent
