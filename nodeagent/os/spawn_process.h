// Starts one program as posix_spawn does, and in another control group if asked: the process is in it from its first
// instruction, so that nothing which it starts is ever outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace glim::nodeagent {

// As exec wants them: with a null at the end. Valid as long as `words` is.
std::vector<char*> Pointers(std::vector<std::string>& words);

struct SpawnPlan {
  std::vector<std::string> arguments;    // the first is the program's path
  std::vector<std::string> environment;  // "NAME=VALUE", exactly these
  std::string folder;                    // where it begins; empty: where the caller is
  std::string group;                     // a folder of the unified hierarchy; empty: the caller's group
  // {ours, theirs}, theirs from 0 up without a gap. It has no other descriptor.
  std::vector<std::pair<int, int>> fds;
  // The CPUs that it runs on and the NUMA nodes whose memory it takes first, below 1024 each; empty: as the caller.
  // What the kernel does not allow is left out: the program runs all the same, only more slowly.
  std::vector<std::uint32_t> cpus = {};
  std::vector<std::uint32_t> memory = {};
  // Called with the child's pid. The program begins when it has returned, and never if the caller ends before that: so
  // that whoever writes the pid down has no program that it does not know of.
  std::function<void(pid_t)> note = nullptr;
};

// 0 and the child's pid, or why not, as errno says it. The child is in a session of its own, with no signal blocked or
// ignored. The caller reaps it, and may have other threads: until the program begins, the child waits for none.
int SpawnProcess(const SpawnPlan& plan, pid_t* pid);

}  // namespace glim::nodeagent
