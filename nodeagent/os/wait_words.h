// What a program itself says that it waits for: in files in memory of the name glim-waits, each of which begins with a
// line of text or with a zero (docs/protocols/task-socket.md, Stacks; sdk/hfreduce/communicator/wait_note.h writes
// them). They are read and nothing is asked of the program, so that it answers also where it hangs in the kernel.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "nodeagent/os/process_look.h"

namespace glim::nodeagent {

inline constexpr std::size_t kWaitWordsMax = 4;  // of a process

// As they are: any bytes but zeros and ends of lines. `known`: files by their inodes; these are left out, and what is
// read is added, for forked children share their parent's. With the rights that FindStackDoor needs.
std::vector<std::string> ReadWaitWords(const ProcessLook& look, std::set<unsigned long>& known);

}  // namespace glim::nodeagent
