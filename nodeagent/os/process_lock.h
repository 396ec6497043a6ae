// ProcessLock: a file that one process has at a time, until that process ends, whatever way it ends.
//
// The lock is the process's (fcntl), not the open file's (flock): a child between fork and exec, which may hang there
// while its parent is killed, does not have it. For the same reason it does not keep two threads of a process apart,
// and it is lost when the process closes any other descriptor of the file: nobody else may open it. After an exec it
// has to be taken anew.
//
// Movable; any thread.
#pragma once

#include <string>
#include <utility>

#include "sdk/base/result.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

class ProcessLock {
 public:
  // Does not wait. The file is made with mode 0600 and stays. ALREADY_EXISTS: another process has it. Else errors of
  // the file (io_error.h).
  static Result<ProcessLock> Take(const std::string& path);

 private:
  explicit ProcessLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace glim::nodeagent
