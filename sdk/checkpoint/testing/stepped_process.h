// A function in a process of its own that is held before each of its system calls on files: there it can be left for a
// while, killed, or told that the call failed. What a machine, a disk or a network may do at any moment is so done at
// every moment. For tests on Linux, x86-64; by ptrace, so everything here is for the thread that made the object.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace glim::checkpoint {

// A system call that opens, makes, lists, reads, writes, flushes, renames or removes a file or folder.
struct FileCall {
  std::string name;  // "openat"
  std::string path;  // what it is about; of two paths the new one
  bool is_write = false;
};

class SteppedProcess {
 public:
  // Runs to the first file call. `body`'s result is the exit status; it asserts nothing, and its other threads are not
  // held.
  explicit SteppedProcess(const std::function<int()>& body);
  ~SteppedProcess();  // kills what still runs
  SteppedProcess(const SteppedProcess&) = delete;
  SteppedProcess& operator=(const SteppedProcess&) = delete;

  // The one that it stands before; none: it has ended.
  const std::optional<FileCall>& call() const { return call_; }

  // To the next call.
  void Step();
  void StepFailing(int error);  // the call is not made; the process sees this errno
  void StepShort();             // a write takes half of the bytes; any other call is just made

  void Kill();
  // Lets it go on by itself, and waits; its exit status, or 128 + the signal that ended it.
  int RunToEnd();

 private:
  bool Resume();  // to the next stop before or after a call; false: it has ended
  void RunToCall();
  void FinishCall();
  void SetEnded(int status);

  pid_t pid_ = -1;
  std::optional<FileCall> call_;
  int exit_status_ = -1;
};

// All file calls of `body`, in order; `exit_status` takes its result.
std::vector<FileCall> FileCallsOf(const std::function<int()>& body, int* exit_status = nullptr);

}  // namespace glim::checkpoint
