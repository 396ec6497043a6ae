// Which processes of a task get the signal that asks it to leave, and what becomes of the others meanwhile. Pure.
//
// The aim is that whatever would save is asked, and that nothing is harmed that it needs for its save. A program is a
// process that handles the signal. Its helpers (workers of a loader, a decoder behind a pipe) are what it has started
// itself: they are left alone, for a program may fail when one of them dies, and what it has left behind may be
// writing its save. What a shell or another wrapper runs is its own program, and the wrapper is not asked, for it would
// end or clean up before the program has saved.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace glim::nodeagent {

struct TaskProcess {
  std::int32_t pid = 0;
  std::int32_t parent = 0;
  std::string program;           // the base name of its executable file
  std::string command;           // its command line: a child that is merely forked has its parent's
  bool handles = false;          // it catches the signal, or has it blocked and waits for it
  bool waits_for_child = false;  // in the kernel, so that it does nothing else
};

// What a request to leave does. The pids of one are in no other.
struct AskedProcesses {
  std::vector<std::int32_t> asked;  // get the signal now
  // Have started what is asked and wait for it in the kernel. They are stopped (SIGSTOP) until it has ended: a shell
  // must not go on to its next command with a training that is not over. Then they get the signal, and go on (SIGCONT).
  // Parents come before their children.
  std::vector<std::int32_t> stopped;
  std::vector<std::int32_t> above;   // have started it too, and do something else: get the signal when it has ended
  std::vector<std::int32_t> beside;  // all others but its helpers (`tee`): get the signal some time after that
  // Have been started by what is asked. When that has ended they get the signal once they do nothing: a shell with a
  // trap that exits leaves its `sleep` behind.
  std::vector<std::int32_t> helpers;
};

// Everything at once: `interrupt.to: all`.
AskedProcesses AskAll(const std::vector<TaskProcess>& processes);

// `interrupt.to: main`, by the first of these rules that finds a process:
// 1. the programs of the ranks: from a rank's first process down, what handles the signal and is no wrapper, and a
//    wrapper that handles it if there is none below it (a shell with a trap that does the work itself);
// 2. the same of what has no parent among the processes any more (a program that was put into the background);
// 3. all processes, as AskAll: nothing of the task would save, so it ends at once.
// `ranks`: the first process of each rank that has not ended.
AskedProcesses AskMain(const std::vector<TaskProcess>& processes, const std::set<std::int32_t>& ranks);

// A launcher may handle the signal and hand nothing on. So what it has started from its own executable file, by another
// command line, and that handles the signal as well, is asked when it is late. `asked`: those that still run.
std::vector<std::int32_t> AskLate(const std::vector<TaskProcess>& processes, const std::set<std::int32_t>& asked);

}  // namespace glim::nodeagent
