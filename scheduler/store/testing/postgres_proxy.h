// Stands between a client and a PostgreSQL server's Unix socket, and cuts the line where it hurts.
//
// One thread of its own. The setters may be called from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/store/testing/temp_dir.h"

namespace glim::store {

class PostgresProxy {
 public:
  // When a client sends COMMIT, or the call that is a commit by itself: before the server has seen it, or after the
  // server has answered.
  enum class Cut { kBeforeCommit, kAfterCommit };

  explicit PostgresProxy(const std::string& server_directory);
  PostgresProxy(const PostgresProxy&) = delete;
  PostgresProxy& operator=(const PostgresProxy&) = delete;
  ~PostgresProxy();

  std::string directory() const { return dir_.path(); }
  // The next `times` commits lose their connection; `then` runs (on the proxy's thread) after each cut.
  void Arm(
      Cut cut, int times, std::function<void()> then = [] {});
  int cuts() const { return cuts_; }
  // While refusing, every connection is closed at once.
  void Refuse(bool refuse) { refuse_ = refuse; }

 private:
  struct Pair {
    int client = -1;
    int server = -1;
  };

  void Serve();
  void Accept();
  // False: the pair is to be closed.
  bool FromClient(const Pair& pair);
  bool FromServer(const Pair& pair);

  TempDir dir_;
  std::string server_path_;
  int listener_ = -1;
  std::atomic<bool> stop_{false};
  std::atomic<bool> refuse_{false};
  std::atomic<int> armed_{0};
  std::atomic<int> cuts_{0};
  Cut cut_ = Cut::kBeforeCommit;  // written before armed_ is raised
  std::function<void()> then_;
  std::vector<Pair> pairs_;  // the thread's
  std::thread thread_;
};

}  // namespace glim::store
