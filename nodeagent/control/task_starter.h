// From a launch order to a task that runs. It waits until somebody has looked at the paths that it names
// (path_probe.h), then for its image (launch_images.h), for its save, if that is not here (launch_saves.h), for the
// operator's prolog (site_hooks.h), then for its code, if that is a snapshot (snapshot_unpacker.h); a stop may come at
// any moment in between.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <set>
#include <string>

#include "nodeagent/control/agent_task.h"
#include "nodeagent/launch/launch_images.h"
#include "nodeagent/launch/launch_saves.h"
#include "nodeagent/launch/path_probe.h"
#include "nodeagent/launch/site_hooks.h"
#include "nodeagent/launch/snapshot_unpacker.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/sync/urgency.h"
#include "sdk/task_environment/task_environment.h"

namespace glim::nodeagent {

class TaskStarter {
 public:
  struct Hooks {
    std::function<void(Urgency)> report_changed;
    std::function<void()> step;                                 // Reconcile is to be asked again, soon
    std::function<void(const TaskKey&, const Status&)> failed;  // the start of a task that is not in the runtime
  };

  // References outlive it. `tasks`: the owner's, who alone removes tasks from it.
  TaskStarter(boost::asio::io_context& io, const AgentOptions& options, Runtime& runtime, TaskTable& tasks,
              Hooks hooks);

  // First of all: what still runs of the prologs and epilogs of the agent before is ended. Returns the tasks whose
  // prolog was cut off.
  std::set<TaskKey> EndOldHooks(const std::string& boot_id) { return site_.EndOld(boot_id); }
  void Start();
  // The agent goes, the tasks stay.
  void Stop();

  // `task` is in the table and new.
  void Launch(const TaskKey& key, AgentTask& task, v1::TaskLaunch order);
  // Instead of Launch, for a fault of the agent's disk.
  void RefuseLaunch(const TaskKey& key, AgentTask& task, const std::string& fault);
  // The task's socket, also for one that was adopted: without it its ranks cannot be heard.
  Status OpenSocket(AgentTask& task);
  // Of a task that the runtime does not know yet.
  void StopBeforeStart(AgentTask& task, const Action& action);
  // What was not started is not started any more.
  void Cancel(const TaskKey& key);
  bool IsUnpacking(const TaskKey& key) const { return unpacker_.IsUnpacking(key) || site_.InProlog(key); }
  bool InProlog(const TaskKey& key) const { return site_.InProlog(key); }
  // Of a task that is released, if one is owed.
  void RunEpilog(const TaskKey& key) { site_.RunEpilog(key, runtime_.FolderOf(key)); }
  // Why the node is to get no more jobs; empty: it may.
  const std::string& site_fault() const { return site_.fault(); }
  // How far its image and the copy of its save have got.
  void Report(const TaskKey& key, v1::ObservedTask* out) const {
    images_.Report(key, out);
    saves_.Report(key, out);
  }
  void Forget(const TaskKey& key) {
    images_.Forget(key);
    saves_.Forget(key);
  }

 private:
  void OnPaths(const TaskKey& key, const PathOutcome& outcome);
  void StartWithImage(const TaskKey& key, AgentTask& task);
  void OnImage(const TaskKey& key, const ImageOutcome& outcome);
  void StartWithSave(const TaskKey& key, AgentTask& task);
  void OnSaveReady(const TaskKey& key, const SaveOutcome& outcome);
  void StartTask(const TaskKey& key, AgentTask& task);
  void Begin(const TaskKey& key, const std::string& snapshot);
  void BeginCode(const TaskKey& key, const std::string& snapshot);
  void OnUnpacked(const TaskKey& key, const Status& unpacked);

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  Runtime& runtime_;
  TaskTable& tasks_;
  const Hooks hooks_;
  const TaskVariables base_variables_;
  PathProbe paths_;
  LaunchSaves saves_;
  LaunchImages images_;
  SnapshotUnpacker unpacker_;
  SiteHooks site_;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
