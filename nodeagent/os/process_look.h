// What a process is doing, as the kernel tells it: for a task that stands still. Stateless; reads /proc alone, and what
// it reads there takes no lock of the process's memory, so that one which hangs in the kernel does not hang the reader.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace glim::nodeagent {

// Of one thread.
struct ThreadLook {
  pid_t id = 0;
  char state = '?';   // as in proc(5): R runs, S sleeps, D waits in the kernel and cannot be killed, T stopped, Z ended
  std::string waits;  // the kernel function in which it waits; empty: none, or not for us to know
  std::uint64_t blocked = 0;  // signals, bit n - 1 for signal n
  std::uint64_t caught = 0;   // of the whole process
};

struct ProcessLook {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;                 // printable
  std::vector<ThreadLook> threads;  // the main one first, at most 256; empty: the process is gone
  std::string kernel_stack;         // of the thread that hangs in the kernel; root alone may read it
};

ProcessLook LookAtProcess(pid_t pid);

// The thread that tells most: the first in D, else the main one. `look` has threads.
const ThreadLook& TellingThread(const ProcessLook& look);

}  // namespace glim::nodeagent
