// What runs the tasks of a node.
//
// A runtime starts a task at most once, keeps it running while the agent is away, and knows it again afterwards.
// Every call is made on the agent's loop and returns at once; whatever happens later is told by `on_change`, and
// Inspect says what it is. Errors of Create are those of the node ("cannot create a folder"); what is wrong with the
// task itself comes as start_failed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nodeagent/core/reconcile.h"
#include "nodeagent/task/rank_causes.h"
#include "nodeagent/task/shim_control.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/result.h"

namespace glim::nodeagent {

struct Inspection {
  Phase phase = Phase::kStarting;
  bool controllable = false;  // signals reach it
  bool start_failed = false;
  StartFault fault = StartFault::kNode;  // with start_failed
  bool ended = false;                    // nothing more comes of it, no output either
  bool lost = false;                     // its processes vanished without a word
  bool out_of_memory = false;            // the kernel killed a process of it for its own limit
  int exit_code = 0;
  std::string message;
  std::int64_t first_output_ms = 0;
  std::vector<RankStatus> ranks;
  RankCauses causes;
  std::vector<pid_t> pids;  // what is there of it after its ranks have ended, or after a SIGKILL; bounded
  std::string hung_path;    // with start_failed: it did not answer in time
};

class Runtime {
 public:
  using OnChange = std::function<void(const TaskKey&)>;

  virtual ~Runtime() = default;
  virtual std::string name() const = 0;

  // Finds the tasks of the agent before this one, running or not, and takes them over without touching them.
  virtual Result<std::vector<TaskKey>> Adopt() = 0;
  // Makes the task known and its folder, and starts nothing yet: the caller puts its own files and the task socket
  // there first. The task must not be known. After a failure it is not.
  virtual Status Create(const TaskKey& key, const LaunchSpec& spec, const PathAnswers& found) = 0;
  // What the task names of the node's file systems: `found` of Create answers it. Create itself touches none of it.
  virtual PathOrder PathsOf(const LaunchSpec& spec) const = 0;
  // Starts a task that was created; once.
  virtual void Start(const TaskKey& key) = 0;
  // Instead of Start: it ends as start_failed, for this reason.
  virtual void Refuse(const TaskKey& key, const std::string& message) = 0;
  // Asks it to leave by a signal, once.
  virtual Status AskToLeave(const TaskKey& key, const SignalOrder& order) = 0;
  virtual void Terminate(const TaskKey& key) = 0;  // SIGTERM to all of it
  virtual void Kill(const TaskKey& key) = 0;       // SIGKILL to all of it; to be repeated until it is released
  // Kill, for a fault of its own that its ranks' exits will be told with. Once.
  virtual void Condemn(const TaskKey& key, const std::string& reason) = 0;
  virtual Inspection Inspect(const TaskKey& key) const = 0;
  // Who is in it now, its supervisor not counted; at most `max`.
  virtual std::vector<pid_t> ProcessesOf(const TaskKey& key, std::size_t max) = 0;
  virtual const LaunchSpec& SpecOf(const TaskKey& key) const = 0;
  virtual std::string FolderOf(const TaskKey& key) const = 0;
  // Drops a released task with its folder; its logs stay.
  virtual void Cleanup(const TaskKey& key) = 0;
  // The agent goes, the tasks stay.
  virtual void Stop() = 0;
};

}  // namespace glim::nodeagent
