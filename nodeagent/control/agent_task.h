// What the agent knows of one task. Owned by NodeTasks and used on the agent's loop.
#pragma once

#include <map>
#include <memory>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/control/task_record.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/task/task_socket.h"

namespace glim::nodeagent {

struct AgentTask {
  ObservedTask seen;  // phase and controllable are taken from the runtime
  TaskRecord record;
  std::shared_ptr<TaskSocket> socket;  // null: nothing runs that could connect
  bool in_runtime = false;             // false: it never was there; `fixed` says what to report
  Inspection fixed;
  v1::TaskLaunch launch;        // as ordered: once the task is reported, the scheduler sends it no more
  bool waits_for_save = false;  // it is started when its save is there
  bool save_missing = false;
};

using TaskTable = std::map<TaskKey, AgentTask>;

// What it is, as the runtime or the table knows.
inline Inspection InspectTask(const Runtime& runtime, const TaskKey& key, const AgentTask& task) {
  return task.in_runtime ? runtime.Inspect(key) : task.fixed;
}

}  // namespace glim::nodeagent
