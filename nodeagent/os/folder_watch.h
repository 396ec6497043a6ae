// Tells when something in a folder changes (inotify), on the agent's loop. One instance serves all folders.
// Not thread-safe; a handler may add and remove watches, its own too.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <string>

#include "sdk/base/result.h"

namespace glim::nodeagent {

class FolderWatch {
 public:
  using Handler = std::function<void()>;
  using Id = std::uint64_t;  // 0: none

  explicit FolderWatch(boost::asio::io_context& io);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  Status Start();
  void Stop();

  // Calls `handler` after a file in `folder` was created, renamed into it or written to. Several watches of one
  // folder are fine. Events that come together make one call.
  Result<Id> Add(const std::string& folder, Handler handler);
  void Remove(Id id);

 private:
  struct Watch {
    int descriptor = -1;
    Handler handler;
  };

  void Wait();
  void Drain();

  boost::asio::posix::stream_descriptor inotify_;
  std::map<Id, Watch> watches_;
  Id next_id_ = 1;
};

}  // namespace glim::nodeagent
