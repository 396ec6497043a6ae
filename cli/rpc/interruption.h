// Ctrl-C, turned from a signal into something that calls and waits can see.
//
// Owns a thread that takes SIGINT and SIGTERM; they are blocked in the thread that makes this object and in all it
// starts later, so make it first in main. On the first signal the running call is cancelled and waits end; if the
// program is still there a second later (blocked in a read), or at the second signal, it ends at once.
// `raised` and `WaitFor` may be called from any thread.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include <grpcpp/client_context.h>

#include "sdk/base/status.h"
#include "sdk/base/time.h"
#include "sdk/io/unique_fd.h"

namespace glim::cli {

class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool raised() const;
  // Waits; true if it ended early because of a signal.
  bool WaitFor(Duration duration);
  // What a command returns when it was interrupted.
  static Status Cancelled();

  // While it lives, a signal cancels `call`. Borrows both. One at a time.
  class Watch {
   public:
    Watch(Interruption* interruption, grpc::ClientContext* call);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    Interruption* interruption_;
  };

 private:
  void Run();

  UniqueFd signal_fd_;
  UniqueFd stop_fd_;
  mutable std::mutex mutex_;  // guards raised_ and call_
  std::condition_variable changed_;
  bool raised_ = false;
  grpc::ClientContext* call_ = nullptr;
  std::thread thread_;
};

}  // namespace glim::cli
