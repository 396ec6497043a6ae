// Sees to it that the save which a launch goes on from is on this node before the task starts.
//
// A launch with `base` waits while its save is copied; one that names its save by path alone (GLIM_RESUME_PATH) waits
// for a look at that path. On the agent's loop: threads copy, and a program of its own looks. What was under way
// when the agent ended is forgotten, and the half copy removed: the task was never started.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/child_work.h"
#include "nodeagent/saves/save_copier.h"
#include "nodeagent/task/task_user.h"

namespace glim::nodeagent {

struct SaveOutcome {
  bool missing = false;  // the save cannot be had: `message` says why
  bool stopped = false;  // Cancel came first
  std::string message;
};

class LaunchSaves {
 public:
  using Done = std::function<void(const TaskKey&, const SaveOutcome&)>;

  // `options` outlive it. `progress`: copied_bytes of some task has grown. `done`: called for each Begin that returned
  // true, on the loop, never from within a call of the owner's.
  LaunchSaves(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> progress, Done done);
  ~LaunchSaves();

  // Removes what a crash left.
  void Start();
  void Stop();

  // False: the launch need not wait for anything. `user`: LaunchSpec.user.
  bool Begin(const TaskKey& key, const std::optional<TaskUser>& user, const v1::TaskLaunch& launch);
  void Cancel(const TaskKey& key);
  // copied_bytes and copy_ms.
  void Report(const TaskKey& key, v1::ObservedTask* task) const;
  void Forget(const TaskKey& key);

 private:
  struct Wait;
  // Where copying threads hand their answers over; the loop may have gone by then.
  struct Mailbox;

  void BeginCopy(const TaskKey& key, Wait& wait, CopyOrder order);
  void BeginLook(const TaskKey& key, Wait& wait, const std::string& path);
  void End(const TaskKey& key, SaveOutcome outcome);
  void Watch();

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  const std::function<void()> progress_;
  const Done done_;
  boost::asio::steady_timer timer_;
  ChildWork children_;  // that look whether a save is there
  std::map<TaskKey, Wait> waits_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<SaveCopier> copier_;
};

}  // namespace glim::nodeagent
