// StreamWatch: asks the door again and again, a few times a second, whether those who read logs and events still may: a
// revoked or expired token, a disabled user, a right that was taken away ends the stream within a second.
//
// Runs on the AgentStrand. In plaintext mode it watches nobody.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>

#include "scheduler/server/agents/agent_strand.h"
#include "scheduler/server/door/door.h"

namespace glim::server {

// Somebody's stream, as the watch sees it. On the strand.
class WatchedStream {
 public:
  virtual ~WatchedStream() = default;
  // Ends with this as soon as what is being written has been taken.
  virtual void Evict(const Status& status) = 0;
  // It was evicted, and its reader takes nothing: breaks it off.
  virtual void Cut() = 0;
};

class StreamWatch {
 public:
  // Both outlive the watch.
  StreamWatch(AgentStrand* strand, const Door* door) : door_(door), timer_(strand->io()) {}

  // `job` 0: the stream is about no single one. The stream is kept until it is forgotten, when its call is over.
  void Watch(std::shared_ptr<WatchedStream> stream, Caller caller, const Permission* row, core::JobId job);
  void Forget(const WatchedStream* stream);
  // Watches no longer.
  void Stop();

 private:
  struct Watched {
    std::shared_ptr<WatchedStream> stream;
    Caller caller;
    const Permission* row = nullptr;
    core::JobId job;
    bool evicted = false;
  };
  void LookLater();
  void Look();

  const Door* const door_;
  boost::asio::steady_timer timer_;
  std::map<const WatchedStream*, Watched> streams_;
  bool looking_ = false;
  bool stopped_ = false;
};

}  // namespace glim::server
