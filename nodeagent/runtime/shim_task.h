// What the runtime knows of one task under its shim: its files, its processes, and what follows from them.
//
// Owned by ShimRuntime and used on the agent's loop, like everything of it.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "nodeagent/hardware/gpu_use.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/runtime/process_census.h"
#include "nodeagent/runtime/runtime.h"

namespace glim::nodeagent {

// The first pause before another look at what is left of a task.
inline constexpr std::chrono::milliseconds kLookFirst{25};
// The first and the longest pause before GPUs that were not empty are asked again.
inline constexpr std::chrono::milliseconds kGpusFirst{50};
inline constexpr std::chrono::milliseconds kGpusMost{1000};

struct ShimTask {
  ShimTask(boost::asio::io_context& io, TaskKey task_key, std::string folder, LaunchSpec launch)
      : key(task_key),
        paths(std::move(folder)),
        spec(std::move(launch)),
        shim(io),
        spawner(io),
        timer(io),
        start_limit(io) {}

  const TaskKey key;
  const TaskPaths paths;
  const LaunchSpec spec;
  TaskStatus status;
  RankCauses causes;
  std::string status_text;  // as last read
  std::string broken;       // why its files cannot be believed: it is lost, whatever still runs of it; empty: they can
  ProcessIdentity identity;
  boost::asio::posix::stream_descriptor shim;     // pidfd; open while it is there
  boost::asio::posix::stream_descriptor spawner;  // pidfd of the process that exits when the shim stands
  boost::asio::steady_timer timer;                // the next look at what is left
  boost::asio::steady_timer start_limit;          // when a shim that has started nothing is given up
  std::chrono::milliseconds pause = kLookFirst;
  pid_t spawner_pid = 0;
  FolderWatch::Id watch = 0;
  FolderWatch::Id group_watch = 0;  // tells when the last of its group has gone
  std::vector<pid_t> pids;
  int kills = 0;
  int empty_looks = 0;
  std::uint64_t last_look = 0;  // of the census'
  std::string condemned;        // why the agent ended it by itself; empty: it did not
  std::string late;             // why its shim was given up: it had started nothing in time; empty: it was not
  bool stopping = false;        // somebody waits for its end
  bool shim_gone = false;
  bool released = false;
  std::string gpus_before;                           // what was on its GPUs before it; empty: unknown
  std::uint64_t gpu_question = 0;                    // what is on them now; 0: to be asked
  std::chrono::steady_clock::time_point gpus_again;  // not before
  std::chrono::milliseconds gpus_pause = kGpusFirst;
  GpuLeft gpus_left;      // of it on its GPUs, as last answered
  bool gpu_busy = false;  // they are not known to be empty

  bool lost() const { return (shim_gone && !status.ended) || !broken.empty(); }
  bool all_exited() const {
    if (!broken.empty()) return true;  // nothing more is awaited of it
    return (status.started || status.start_failed) &&
           std::all_of(status.ranks.begin(), status.ranks.end(), [](const RankStatus& r) { return r.exited; });
  }
  // Reads the status file. True when it says something new.
  bool ReadStatus();
  // What was on its GPUs before it, as its start wrote it down.
  void ReadGpusBefore();
  // Whether anything is there of it in this life of the machine: in its group; without one, as the census sees it.
  // `pids`: who, at most `max`.
  bool IsPopulated(const std::string& boot_id, ProcessCensus& census, std::size_t max, std::vector<pid_t>* pids) const;
  // Its shim, which has every process of it below itself, was killed, and no group has them: a process that has cleared
  // its environment is known by nothing. Of root's own processes on a machine most are the system's.
  bool NobodyCounted() const {
    return spec.group.empty() && shim_gone && lost() && identity.start_ticks > 0 && ::geteuid() != 0;
  }
  // Whose processes may be its own.
  std::set<uid_t> users() const { return {::geteuid(), UidOf(spec, paths)}; }
  // Nothing can be there of it, and its process ids would be somebody else's.
  bool IsOfAnotherBoot(const std::string& boot_id) const {
    return !identity.boot_id.empty() && identity.boot_id != boot_id;
  }
  // Without its shim.
  void SignalLeftovers(const std::string& boot_id, ProcessCensus& census, int signal) const;
  Inspection Inspect(const std::string& boot_id) const;
};

}  // namespace glim::nodeagent
