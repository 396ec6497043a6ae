// Unpacks the archives of jobs' code into tasks' folders, each by a glim-unpack of its own: the agent's loop never
// waits for the archives' file system, and what strangers packed is read as the tasks' user.
//
// All calls on the agent's loop. A glim-unpack has the task's mark in its environment (GLIM_SOCKET), so that a census
// finds it and a stop of the task ends it, also after a restart of the agent.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "nodeagent/core/reconcile.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

class SnapshotUnpacker {
 public:
  using Done = std::function<void(const Status&)>;

  // `program`: glim-unpack's path.
  SnapshotUnpacker(boost::asio::io_context& io, std::string program);
  ~SnapshotUnpacker();

  // From `archive` into paths.code(), which is there and empty, for and as `user` (none: who the agent is), in the
  // control group `group` (empty: the agent's).
  // `done` comes once, later and on the loop, unless Stop comes first. A Status that is not OK: nothing was begun, and
  // `done` does not come.
  Status Start(const TaskKey& key, const std::string& archive, const TaskPaths& paths,
               const std::optional<TaskUser>& user, const std::string& group, Done done);
  bool IsUnpacking(const TaskKey& key) const { return running_.contains(key); }
  // The agent goes: ends what still runs.
  void Stop();

 private:
  struct Run {
    boost::asio::posix::stream_descriptor process;  // pidfd
    pid_t pid = 0;
    std::string archive;
    std::string log;
    Done done;
  };
  void OnEnd(const TaskKey& key);

  boost::asio::io_context& io_;
  const std::string program_;
  std::map<TaskKey, Run> running_;
};

}  // namespace glim::nodeagent
