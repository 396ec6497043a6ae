// Who is there: processes as /proc tells them. A pid alone names nobody for long, so whatever outlives one scan is
// held by (pid, start time), and by the boot as well once it is written down.
// Stateless functions; they read /proc and touch nothing but by SignalProcess.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;  // clock ticks since boot
  bool gone = false;              // a zombie whose last thread has ended: it holds nothing
};

// What a task is known by, also after an agent's restart.
struct ProcessIdentity {
  std::string boot_id;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
};

Result<std::string> ReadBootId();
std::optional<ProcessInfo> ReadProcess(pid_t pid);
// As the kernel has it, cut to kProgramNameMax; a process may choose any bytes. Empty: it is not there.
std::string ProgramNameOf(pid_t pid);
inline constexpr std::size_t kProgramNameMax = 15;
std::vector<ProcessInfo> ListProcesses();  // without the gone ones

// A descriptor that becomes readable when the process ends; none when it is not (or no longer) there.
UniqueFd OpenProcess(const ProcessIdentity& identity, const std::string& boot_id_now);

// The processes below `root`, without it.
std::vector<ProcessInfo> Descendants(const std::vector<ProcessInfo>& all, pid_t root);
// `roots` and the processes below them.
std::vector<ProcessInfo> WithDescendants(const std::vector<ProcessInfo>& all, const std::set<pid_t>& roots);
// Those whose environment holds `marker` ("GLIM_SOCKET=/state/tasks/7.1.0/task.sock") and everything below them.
std::vector<ProcessInfo> Marked(const std::vector<ProcessInfo>& all, const std::string& marker);

// True when the signal was sent to that very process.
bool SignalProcess(const ProcessInfo& process, int signal);
// Sends a queued signal with a value through a pidfd; false when the process is gone.
bool QueueSignal(int pidfd, int signal, int value);

int OpenPidfd(pid_t pid);
// Whether the process of a pidfd has ended. Asio's waits alone do not say so: one may end for no reason, by an event of
// a descriptor that had the same place before.
bool IsOver(int pidfd);

}  // namespace glim::nodeagent
