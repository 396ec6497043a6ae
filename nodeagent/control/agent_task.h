// What the agent knows of one task. Owned by NodeTasks and used on the agent's loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/control/left_behind.h"
#include "nodeagent/control/task_record.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/images/image_order.h"
#include "nodeagent/launch/task_secrets.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/task/task_socket.h"

namespace glim::nodeagent {

struct AgentTask {
  ObservedTask seen;  // phase and controllable are taken from the runtime
  TaskRecord record;
  std::shared_ptr<TaskSocket> socket;  // null: nothing runs that could connect
  bool in_runtime = false;             // false: it never was there; `fixed` says what to report
  Inspection fixed;
  v1::TaskLaunch launch;         // as ordered: once the task is reported, the scheduler sends it no more
  std::optional<TaskUser> user;  // LaunchSpec.user, until the runtime knows it
  TaskSecrets secrets;           // until they are on tmpfs: `launch` has their names alone
  bool secrets_removed = false;
  PathAnswers found;                 // what was found of the paths that it names
  std::optional<ImageAnswer> image;  // here; none: not yet, or it runs in the node's own system
  bool waits_to_start = false;       // until its image and its save are there
  bool save_missing = false;
  bool start_judged = false;  // that its start failed was told to the disk
  bool disk_fault = false;    // its start failed while the agent's disk took nothing
  LeftBehind left;
  std::string logged;  // of its phase, so that a change is logged once
};

// Whether a kept order is enough to begin the task once more: saves are chosen anew, and secrets are kept nowhere.
inline bool CanBeginAgain(const v1::TaskLaunch& launch) { return !launch.has_base() && !NeedsSecrets(launch); }

using TaskTable = std::map<TaskKey, AgentTask>;

// What it is, as the runtime or the table knows.
inline Inspection InspectTask(const Runtime& runtime, const TaskKey& key, const AgentTask& task) {
  Inspection inspection = task.in_runtime ? runtime.Inspect(key) : task.fixed;
  if (task.disk_fault) inspection.fault = StartFault::kDisk;
  return inspection;
}

}  // namespace glim::nodeagent
