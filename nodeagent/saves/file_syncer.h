// Syncs files that have been written, one after the other, while the next ones are being written. One caller's thread,
// and one of its own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "sdk/base/status.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {

class FileSyncer {
 public:
  FileSyncer() : thread_([this] { Run(); }) {}
  // Drops what is still to be synced.
  ~FileSyncer();
  FileSyncer(const FileSyncer&) = delete;
  FileSyncer& operator=(const FileSyncer&) = delete;

  // Cuts the file to its size, syncs it and closes it. Waits while too many wait.
  void Push(UniqueFd fd, std::string name, std::int64_t bytes);
  // Waits until all are on the disk. The first error.
  Status Finish();

 private:
  struct File {
    UniqueFd fd;
    std::string name;
    std::int64_t bytes = 0;
  };

  void Run();
  static Status Sync(const File& file);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<File> waiting_;
  bool busy_ = false;
  bool stop_ = false;
  Status status_;
  std::thread thread_;
};

}  // namespace glim::nodeagent
