// Brings files to the disk some time after they were written, so that nobody waits for the disk meanwhile. A file that
// is gone by then is left alone.
//
// Thread-safe. A thread of its own flushes, one file after the other; its end waits for the flush that is under way,
// and drops the rest.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace glim::nodeagent {

class LateFlusher {
 public:
  using Flush = std::function<void(const std::string& path)>;

  // `flush`: called on the thread; FlushFileAndFolder but in tests.
  explicit LateFlusher(std::chrono::milliseconds delay, Flush flush = FlushFileAndFolder);
  ~LateFlusher();
  LateFlusher(const LateFlusher&) = delete;
  LateFlusher& operator=(const LateFlusher&) = delete;

  // Flushes what is at `path` after the delay.
  void Push(std::string path);

  // A failure is the disk's, and told by whoever must write next.
  static void FlushFileAndFolder(const std::string& path);

 private:
  struct File {
    std::string path;
    std::chrono::steady_clock::time_point due;
  };

  void Run();

  const std::chrono::milliseconds delay_;
  const Flush flush_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<File> waiting_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace glim::nodeagent
