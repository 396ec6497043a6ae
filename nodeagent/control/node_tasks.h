// The tasks of this node: what the scheduler wants, what is there, and the steps from the one to the other.
//
// Every event (a desired state, a rank's word, an exit, a timer) changes what is observed and asks for a step:
// Reconcile says what to do, NodeTasks does it, and a report tells the scheduler. On the agent's loop; no locks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/control/agent_task.h"
#include "nodeagent/control/task_starter.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/os/gpu_inventory.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/sync/desired_store.h"
#include "nodeagent/sync/urgency.h"
#include "nodeagent/sync/wire.h"

namespace glim::nodeagent {

class NodeTasks {
 public:
  struct Hooks {
    std::function<void(Urgency)> report_changed;
    std::function<void(std::uint64_t job, std::uint32_t attempt)> task_ended;  // no more output comes of it
  };

  // References outlive it. No hook is called before Start has returned.
  NodeTasks(boost::asio::io_context& io, const AgentOptions& options, FolderWatch& watch, GpuInventory& gpus,
            const std::string& boot_id, Hooks hooks);
  ~NodeTasks();

  // Reads back what the agent before this one was told, and adopts its tasks.
  Status Start();
  // The agent goes, the tasks stay.
  void Stop();

  // A set came in. It is carried out unless it is older than the newest one. Not OK: it could not be kept on the disk
  // and is not acted on; to be sent again.
  Status Accept(v1::DesiredState set);

  Revision revision() const { return desired_.revision; }
  std::string runtime_name() const { return runtime_->name(); }
  void Report(v1::NodeReport* report) const;
  // Whether more output may come: a task of this attempt is on the node and has not ended.
  bool LogIsOpen(std::uint64_t job, std::uint32_t attempt) const;

 private:
  Status AdoptTasks();
  void OnRuntimeChange(const TaskKey& key);
  bool NeedsDurability(const Desired& desired) const;

  void StepSoon();
  void Step();
  Observed Observe() const;
  void CarryOut(const Action& action);
  void Launch(const TaskKey& key);
  void ReportLost(const TaskKey& key);
  void SendSignal(AgentTask& task, const Interrupt& interrupt);
  void StopTask(AgentTask& task, const Action& action);
  void Forget(const TaskKey& key);
  Status SaveRecord(const AgentTask& task) const;
  void PruneOldLogs();

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  const Hooks hooks_;
  DesiredStore store_;
  const std::unique_ptr<Runtime> runtime_;
  boost::asio::steady_timer wake_;
  Desired desired_;        // as accepted
  LaunchOrders launches_;  // how its tasks are launched that are not there yet
  TaskTable tasks_;
  TaskStarter starter_;
  bool step_pending_ = false;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
