// The operator's programs around a task: the prolog before its first process, the epilog after its last one.
//
// They run as the agent's user, in sessions of their own, with a deadline; their output lies beside the ranks' logs. A
// prolog that fails or is late fails the start, and the node is to get no more jobs: fault() says why, until the agent
// ends. So it is after an epilog that fails; nobody waits for that one. What an agent leaves behind the next agent ends
// and runs again (hook_notes.h). On the agent's loop; not thread-safe.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/launch/hook_notes.h"
#include "nodeagent/options/agent_options.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

class SiteHooks {
 public:
  using Done = std::function<void(const Status&)>;

  // `options` outlive it. `changed`: fault() is another one.
  SiteHooks(boost::asio::io_context& io, const AgentOptions& options, std::function<void()> changed);
  ~SiteHooks();

  // Before all others: ends what still runs of the agent before. Returns the tasks whose prolog was cut off. Waits for
  // the ends, kOldEndLimit at most each; one that does not go is a fault().
  std::set<TaskKey> EndOld(const std::string& boot_id);
  // The epilogs that were cut off run again.
  void Start();
  // Calls `done` once, at once where there is no prolog. Afterwards the task's folder says that an epilog is owed.
  void RunProlog(const TaskKey& key, const v1::TaskLaunch& launch, const std::string& folder, Done done);
  bool InProlog(const TaskKey& key) const;
  // Of a task that is released, if one is owed: once, whatever agent began it.
  void RunEpilog(const TaskKey& key, const std::string& folder);
  // The words of the last failure; empty: none.
  const std::string& fault() const { return fault_; }
  // The agent goes; what runs is killed, and the notes of it stay.
  void Stop();

 private:
  using Id = std::pair<TaskKey, bool>;  // whether it is the prolog
  struct Run {
    pid_t pid = 0;
    std::string program;
    std::string output;
    Done done;  // empty: told
    boost::asio::posix::stream_descriptor process;
    boost::asio::steady_timer limit;
  };

  static constexpr std::chrono::seconds kOldEndLimit{5};

  Status Start(const Id& id, const std::string& program, const std::string& environment, Done done);
  void OnLimit(const Id& id);
  void OnEnd(const Id& id);
  void StartEpilog(const TaskKey& key, const std::string& environment);
  void Note(const HookNote& note) const;
  Status Failed(const Id& id, const std::string& why);
  Status FaultOf(const Id& id, const std::string& why);

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  const std::function<void()> changed_;
  std::map<Id, Run> running_;
  std::vector<HookNote> cut_off_;  // epilogs of the agent before
  std::string boot_id_;
  std::string fault_;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
