// Stacks of a program that runs, and runs on: as its Python interpreter tells them, or as a debugger finds them.
// Whoever asks has the rights of the program's user and no others; what a program does about it, it does to itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/os/process_look.h"
#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

// A process that tells its Python stacks has a file in memory of the name glim-stacks-SIGNAL, and appends all its
// threads' stacks to it when it gets that signal (sdk/python/glim/stacks.py, docs/protocols/task-socket.md).
struct StackDoor {
  UniqueFd file;  // the program's own descriptor: it gives no right that the program has not
  int signal = 0;
  unsigned long inode = 0;  // forked children share their parent's file
};

// None: it has no such file, or does not catch that signal, which would end it. A program in a user namespace of its
// own is looked at by root alone.
std::optional<StackDoor> FindStackDoor(const ProcessLook& look);

// Asks, and waits for the answer for at most `limit`. DEADLINE_EXCEEDED: it came to no point at which it could answer.
Result<std::string> AskForStacks(const ProcessLook& look, const StackDoor& door, std::chrono::milliseconds limit);

// gdb over several processes at once, each for at most `limit`: meanwhile they stand still. What does not end in time
// is killed, and the process goes on. In the order of `processes`; not OK: there is no gdb, or it may not look.
std::vector<Result<std::string>> DebuggerStacks(const std::vector<pid_t>& processes, std::chrono::milliseconds limit);

}  // namespace glim::nodeagent
