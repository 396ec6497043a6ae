// Adviser: one thread for answers that take a while to find (why a job waits, what a submission would come to). They
// are found on snapshots: neither the strand nor gRPC's threads wait for them.
//
// Bounded: kOfUserMax for a user, kOfPeerMax for a peer (limits/caller_limits.h), kWaitingMax in all. Post may be
// called from any thread; `work` and `done` run on the adviser's own, but for a `done` that Stop refuses, which runs on
// Stop's.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "sdk/base/status.h"

namespace glim::server {

class Adviser {
 public:
  struct Task {
    std::function<Status()> work;
    std::function<void(const Status&)> done;  // called once: with what work returned, or UNAVAILABLE at Stop
  };
  static constexpr std::size_t kWaitingMax = 64;
  static constexpr std::size_t kOfUserMax = 4;
  static constexpr std::size_t kOfPeerMax = 32;

  Adviser();
  ~Adviser();

  // RESOURCE_EXHAUSTED (reason OVERLOADED) when too many of the user, of the peer or in all wait,
  // UNAVAILABLE after Stop; then nothing of the task is called.
  Status Post(std::string user, std::string peer, Task task);

  // Ends what runs, refuses what waits, joins the thread. Idempotent; one thread.
  void Stop();

 private:
  struct Waiting {
    std::string user;
    std::string peer;
    Task task;
  };

  void Run();

  std::mutex mutex_;  // guards all below but the thread
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;
  std::map<std::string, std::size_t> users_;  // how many each has waiting or running
  std::map<std::string, std::size_t> peers_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace glim::server
