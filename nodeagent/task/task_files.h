// A task's folder, and what the agent and the shim tell each other in it. The folder is private (0700), every file
// 0600 and replaced by rename, so either side may die and come back at any moment.
//
//   STATE_DIR/tasks/JOB.ATTEMPT.INDEX/
//     launch.json   the agent, before the shim starts: what to run. May hold secrets that
//                   users wrote into `env`: never in argv. Of `secrets` it holds the names (launch/task_secrets.h)
//     shim.json     the shim, first of all: its identity
//     status.json   the shim: ranks started, each exit (synced), the end (synced)
//     record.json   the agent: how far a stop and the signals have got
//     ranks.json    the agent: what the ranks said on the task socket
//     status.json.spare, status.json.last-spare, ranks.json.spare
//                                         room for these two when the disk is full (sdk/io/spare_file.h)
//     run/socket    the task socket; a container of the task sees this folder, in which it writes nothing, and none
//                   of the files beside it
//     run/hosts, run/zones  the agent, before the shim starts: who the gang is, for the task's user alone
//     run/socket.rank-R     likewise, empty: what the calls of glim-task of one rank take turns by
//     code/         the job's code, where the job has a snapshot of it; unpack.log: glim-unpack's words, if that failed
//     bundle/       the container's root and configuration, where there is a container
//     tmp/          the container's /tmp
//     shim.log      the shim's own words, when something is wrong with it
//   STATE_DIR/logs/JOB-ATTEMPT/rank-R.log   the ranks' output: log_files.h
// Plain values; parsing refuses what does not fit, with the field's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/os/processes.h"
#include "nodeagent/task/start_fault.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

inline constexpr std::uint32_t kRanksPerTaskMax = 256;

struct LogLimits {
  std::int64_t file_bytes_max = 16 * 1024 * 1024;
  std::uint32_t files_max = 4;  // of one rank, the one being written to included
};

struct RankLaunch {
  std::uint32_t rank = 0;                                // global
  std::vector<std::pair<std::string, std::string>> env;  // beside the common one, which it overrides
  std::vector<std::uint32_t> cpus = {};                  // that it may run on; empty: all
  std::vector<std::uint32_t> memory = {};                // NUMA nodes whose memory it takes first; empty: any
};

// A folder or file of the node that the task is to see. (The message of the wire is v1::Mount, the scheduler's type
// core::Mount. The shim and glim-init read this one from a file, and link neither the messages nor the scheduler.)
struct Mount {
  std::string source;  // absolute, on the node
  std::string target;  // absolute, in the task
  bool read_only = false;
};

// What the task may use of its node; 0: as much as the node has. As with Mount, the shim's own.
struct TaskLimits {
  std::int64_t memory_bytes = 0;
  std::int64_t cpu_millis = 0;  // thousandths of a CPU
  std::int64_t pids = 0;
  std::int64_t shm_bytes = 0;      // /dev/shm
  bool memory_by_default = false;  // memory_bytes is what the node gives to whoever asks for nothing
};

// The container that the shim has to start the ranks in.
struct ContainerLaunch {
  std::string runc;  // the program: runc, or one with its command line
  std::string root;  // where it keeps its own state
  std::string id;
  std::string bundle;  // holds config.json
  std::string cgroup;  // the task's, absolute, below each controller's root; the container's own is below it
};

// The image that the task runs in; not in the launch file, for only who prepares the container asks.
struct ImageLaunch {
  std::string path;           // of the node's, as the job names it; empty: it is a registry's
  std::string file;           // the squashfs file; empty: it is not here yet
  std::string passwd, group;  // its files of accounts
};

struct LaunchSpec {
  std::string task;  // job.attempt.index
  // The folder of its group in the unified hierarchy, in which all its processes are; empty: this node has no groups.
  std::string group;
  std::string job_name;
  std::string workdir;
  std::string run;
  std::string shell = "/bin/bash";
  std::string log_folder;
  LogLimits log_limits;
  std::uint32_t gpus = 0;
  std::vector<std::pair<std::string, std::string>> env;
  std::vector<RankLaunch> ranks;
  std::string checkpoint_folder;
  bool checkpoint_root = false;  // it is the cluster's choice, not the job's: the agent may make it
  // With secrets: where they lie, on tmpfs; and which variables the ranks have from files in there (variable, the
  // file's path as the ranks' parent sees it). No value stands in a launch file.
  std::string secrets_folder;
  std::vector<std::pair<std::string, std::string>> secret_env;
  std::string code_folder;  // where the agent unpacks the job's code; empty: the workdir is the node's own folder
  std::vector<Mount> mounts;
  TaskLimits limits;
  std::optional<ImageLaunch> image;          // none: the node's own system
  std::optional<ContainerLaunch> container;  // none: plain processes of the node
  std::optional<TaskUser> user;              // whose rights it has; none: the agent's own user, never in a container
};

// Whether the job names no checkpoint folder: then it has one below the agent's own folder.
bool IsOwnCheckpointFolder(const std::string& state_dir, const LaunchSpec& spec);

// Makes such a folder where it is missing: its user's alone, or its user's group's to read.
Status MakeOwnCheckpointFolder(const std::string& path, const std::optional<TaskUser>& user, bool group_readable);

struct RankStatus {
  std::uint32_t rank = 0;
  pid_t pid = 0;
  bool exited = false;
  int exit_code = 0;              // 128 + n after signal n
  std::int64_t exited_at_ms = 0;  // since the epoch; 0: it has not
  bool out_of_memory = false;     // it was killed, and the task had used up its memory just before
};

struct TaskStatus {
  bool started = false;       // every rank's program runs
  bool start_failed = false;  // one could not be started; the others were killed
  bool ended = false;         // no process of the task is left
  int exit_code = 0;          // of the first rank that failed
  std::string message;
  std::int64_t first_output_ms = 0;  // since the epoch; 0: none yet
  std::vector<RankStatus> ranks;
  StartFault fault = StartFault::kNode;  // with start_failed
  bool out_of_memory = false;            // the kernel killed a process of the task for the task's own limit
};

struct TaskPaths {
  explicit TaskPaths(std::string task_folder) : folder(std::move(task_folder)) {}
  std::string folder;
  std::string launch() const { return folder + "/launch.json"; }
  std::string identity() const { return folder + "/shim.json"; }
  std::string status() const { return folder + "/status.json"; }
  std::string record() const { return folder + "/record.json"; }
  std::string ranks() const { return folder + "/ranks.json"; }
  std::string gpus() const { return folder + "/gpus.json"; }  // what was on its GPUs before it
  std::string run() const { return folder + "/run"; }
  std::string socket() const { return run() + "/socket"; }
  std::string turns(std::uint32_t rank) const { return socket() + ".rank-" + std::to_string(rank); }
  std::string hosts() const { return run() + "/hosts"; }
  std::string zones() const { return run() + "/zones"; }
  std::string bundle() const { return folder + "/bundle"; }
  std::string code() const { return folder + "/code"; }
  std::string unpack_log() const { return folder + "/unpack.log"; }
  std::string tmp() const { return folder + "/tmp"; }
  std::string lock() const { return folder + "/lock"; }
  std::string shim_log() const { return folder + "/shim.log"; }
};

// Below a container's group: where runc itself is while it starts the container, and the container's own.
inline std::string StartGroupOf(const std::string& group) { return group + "/start"; }
inline std::string ContainerGroupOf(const std::string& group) { return group + "/container"; }
// Where what the agent and the shim start for the task begins; empty: there are no groups.
inline std::string EntryGroupOf(const LaunchSpec& spec) {
  return spec.group.empty() || !spec.container ? spec.group : StartGroupOf(spec.group);
}

// Who the ranks are. A launch file of an earlier version, or one that is of no use any more, does not say it; then the
// run folder, which was given to them, does.
uid_t UidOf(const LaunchSpec& spec, const TaskPaths& paths);

std::string ToJson(const LaunchSpec& spec);
Result<LaunchSpec> ParseLaunchSpec(const std::string& text);
std::string ToJson(const ProcessIdentity& identity);
Result<ProcessIdentity> ParseProcessIdentity(const std::string& text);
std::string ToJson(const TaskStatus& status);
Result<TaskStatus> ParseTaskStatus(const std::string& text);

inline constexpr std::size_t kLaunchBytesMax = 8 * 1024 * 1024;
inline constexpr std::size_t kStatusBytesMax = 1024 * 1024;

}  // namespace glim::nodeagent
