// What the agent knows of one task. Private to Agent, whose loop owns every one of them.
#pragma once

#include <memory>

#include "nodeagent/agent.h"
#include "nodeagent/launch/task_record.h"

namespace glim::nodeagent {

struct Agent::Task {
  ObservedTask seen;  // phase and controllable are taken from the runtime
  TaskRecord record;
  std::shared_ptr<TaskSocket> socket;  // null: nothing runs that could connect
  bool in_runtime = false;             // false: it never was there; `fixed` says what to report
  Inspection fixed;
  v1::TaskLaunch launch;        // as ordered: once the task is reported, the scheduler sends it no more
  bool waits_for_save = false;  // it is started when its save is there
  bool save_missing = false;
};

}  // namespace glim::nodeagent
