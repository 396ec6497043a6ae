// A folder whose storage hangs: a FUSE file system that takes every request and answers none, until Release. For root
// alone. Whoever waits for it cannot be killed, as with a network file system whose server is gone.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <thread>

#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

class HungFolder {
 public:
  // Over the folder `path`, which is there.
  explicit HungFolder(std::string path);
  ~HungFolder();
  HungFolder(const HungFolder&) = delete;
  HungFolder& operator=(const HungFolder&) = delete;

  // Whether this process was the last to ask for anything in there: it hangs.
  bool HoldsProcess(pid_t pid) const { return asked_by_ == pid; }
  // The folder itself is seen again, and whoever hung gets an error.
  void Release();

 private:
  void Serve();

  const std::string path_;
  std::atomic<pid_t> asked_by_ = 0;
  UniqueFd fuse_;
  UniqueFd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace glim::nodeagent
