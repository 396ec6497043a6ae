// What a communicator waits for, in words, for whoever looks at a process that stands still: a file in memory of the
// name glim-waits, made when there is first something to say (docs/protocols/task-socket.md, Stacks).
#pragma once

#include <string>

#include "sdk/io/unique_fd.h"

namespace glim::hfreduce {

// Not thread-safe. Where there can be no such file, nothing is said.
class WaitNote {
 public:
  // One line without its end; empty: it waits for nothing.
  void Say(const std::string& words);
  void Clear() {
    if (!said_.empty()) Say("");
  }

 private:
  UniqueFd file_;
  std::string said_;
};

}  // namespace glim::hfreduce
