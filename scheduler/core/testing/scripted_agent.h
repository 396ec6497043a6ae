// ScriptedAgent: what one node's agent and its tasks do, in a test. It obeys a desired state at once, as the scripts of
// the jobs say; a test may also change what it observes by hand.
#pragma once

#include <map>
#include <vector>

#include "scheduler/core/lifecycle/desired.h"
#include "scheduler/core/model/event.h"

namespace glim::core::testing {

// How the tasks of a job behave.
struct Script {
  bool starts = true;  // false: reports that it could not start
  bool runs = true;    // false: stays in STARTING
  bool speaks = true;  // its SDK says hello when it starts
  bool acks = true;    // its SDK answers the flag
  bool saves = true;   // and saves at the agreed step
  bool leaves = true;  // and exits
  bool stuck = false;  // does not go when it is killed
  std::int64_t hold_ahead = 1;
  bool own_folder = false;  // its saves lie in its nodes' own checkpoint folders
  bool copies = true;       // ... and the agents manage to copy them
  bool sees_saves = true;   // false: what it goes on from is on no node
};

class ScriptedAgent {
 public:
  std::map<TaskId, ObservedTask> tasks;

  std::vector<ObservedTask> Observed() const;

  // True if what it observes has changed: it has something to report.
  bool Obey(const std::vector<DesiredTask>& desired, const std::map<JobId, Script>& scripts);

  // The task is gone, every rank with this code.
  static void Release(ObservedTask& task, std::int32_t code);

  // `own_folder`: it lies in the node's own checkpoint folder.
  static void Save(Rank& rank, std::int64_t step, std::uint32_t world, bool own_folder = false);

 private:
  bool ObeyOne(const DesiredTask& want, const Script& script);
  static ObservedTask Lost(const DesiredTask& want);
  static ObservedTask Launch(const DesiredTask& want, const Script& script);
  static bool Answer(ObservedTask& task, const Attempt& attempt, const Job& job, const Script& script);
};

}  // namespace glim::core::testing
