// Holds the containers' own /tmp to a bound: what a task writes there lies on the disk of the agent's state folder, and
// one task must not take it from all others. Whoever has more, or more files or deeper folders than are counted, is
// killed, and told why.
//
// It looks every few seconds, by a thread of its own: a task may be over the bound for that long. On the agent's loop;
// not thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/control/disk_use.h"
#include "nodeagent/core/reconcile.h"
#include "sdk/threads/apart_call.h"

namespace glim::nodeagent {

class TmpWatch {
 public:
  using Folders = std::vector<std::pair<TaskKey, std::string>>;
  struct Hooks {
    std::function<Folders()> folders;                                         // of those that run, their /tmp
    std::function<void(const TaskKey& key, const std::string& reason)> over;  // for people
  };

  // `bytes_max` 0: nothing is bounded.
  TmpWatch(boost::asio::io_context& io, std::int64_t bytes_max, Hooks hooks);

  void Start();
  void Stop();

 private:
  using Sizes = std::vector<std::pair<TaskKey, FolderBytes>>;
  void Look();
  void OnLooked(const Sizes& sizes);

  boost::asio::io_context& io_;
  const std::int64_t bytes_max_;
  const Hooks hooks_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<ApartCall<Sizes>> look_;
};

}  // namespace glim::nodeagent
