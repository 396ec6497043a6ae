// Looks at what jobs name of the node's file systems before their tasks start, each by a glim-paths of its own, within
// a limit: neither the agent nor another task waits for storage that hangs.
//
// On the agent's loop; not thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "nodeagent/core/reconcile.h"
#include "nodeagent/os/child_work.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

struct PathOutcome {
  PathAnswers answers;    // to each wish, if all is well
  Status status;          // of the node: nobody could look; or of a path that did not answer
  std::string hung_path;  // that path; empty: all did
  bool stopped = false;
};

class PathProbe {
 public:
  using Done = std::function<void(const TaskKey&, const PathOutcome&)>;

  // `program`: glim-paths. `done` comes once for each Begin, later and on the loop, unless Stop comes first.
  PathProbe(boost::asio::io_context& io, std::string program, std::chrono::milliseconds limit, Done done);

  void Begin(const TaskKey& key, PathOrder order);
  // `done` comes with `stopped`. Nothing if nothing is under way.
  void Cancel(const TaskKey& key);
  void Stop();

 private:
  struct Look {
    PathOrder order;
    ChildWork::Id child = 0;
  };

  const PathWish* HangsAlready(const PathOrder& order);
  void OnLooked(const TaskKey& key, const ChildWork::Outcome& outcome);
  void EndLater(const TaskKey& key, PathOutcome outcome);
  void End(const TaskKey& key, const PathOutcome& outcome);

  boost::asio::io_context& io_;
  const std::string program_;
  const std::chrono::milliseconds limit_;
  const Done done_;
  ChildWork children_;
  std::map<TaskKey, Look> looks_;
  std::map<std::string, ChildWork::Id> hanging_;  // paths at which somebody still hangs
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
