// The innermost functions of stacks, in a few words for a line. Pure: any bytes give some text or none.
#pragma once

#include <string>

namespace glim::nodeagent {

// Of what faulthandler writes of all threads, the main one being the last: "wait_for_peer, train.py:41".
std::string InnermostOfPython(const std::string& stacks);

// Of what gdb's `thread apply all backtrace` writes, thread 1 being the main one: "nanosleep < sleep < wait_for_peer".
std::string InnermostOfDebugger(const std::string& stacks);

}  // namespace glim::nodeagent
