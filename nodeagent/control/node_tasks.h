// The tasks of this node: what the scheduler wants, what is there, and the steps from the one to the other.
//
// Every event (a desired state, a rank's word, an exit, a timer) changes what is observed and asks for a step:
// Reconcile says what to do, NodeTasks does it, and a report tells the scheduler. On the agent's loop; no locks.
//
// Sources: node_tasks.cc, node_tasks_adopt.cc (the tasks of the agent before this one), node_tasks_report.cc (what
// the scheduler is told, and what it asks)
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/control/agent_task.h"
#include "nodeagent/control/evidence_taker.h"
#include "nodeagent/control/receipts.h"
#include "nodeagent/control/state_disk.h"
#include "nodeagent/control/task_starter.h"
#include "nodeagent/control/tmp_watch.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/hardware/gpu_inventory.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/folder_watch.h"
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

  // A set came in. It is carried out unless it is older than the newest one. One that cannot be kept on the disk is
  // carried out too, but starts nothing, and is written down as soon as that can be done.
  void Accept(v1::DesiredState set);

  Revision revision() const { return desired_.revision; }
  std::string runtime_name() const { return runtime_->name(); }
  // Whether the kernel knows who is in a task, and not only what can be read in /proc.
  bool census_is_exact() const { return !groups_.empty(); }
  // The folder below which each task has its group; empty: there are none.
  const std::string& groups() const { return groups_; }
  // `gpus_busy_at`: when a GPU of the node was seen to compute, 0 for never; nothing: nobody watches them.
  void Report(std::optional<TimePoint> gpus_busy_at, v1::NodeReport* report) const;
  // That the scheduler has launched what is here.
  const Receipts& receipts() const { return receipts_; }
  // Whether more output may come: a task of this attempt is on the node and has not ended.
  bool LogIsOpen(std::uint64_t job, std::uint32_t attempt) const;
  // Whether any task of the job is on the node, ended or not, or is to be.
  bool HasTaskOf(std::uint64_t job) const;

 private:
  Status AdoptTasks();
  void RemoveUnbegun(const std::set<TaskKey>& cut_off);
  void AdoptTask(const TaskKey& key);
  void ReportLostStarts(const std::string& boot_id);
  void OnRuntimeChange(const TaskKey& key);
  void BlameDisk(const TaskKey& key, const Status& failure);
  bool NeedsDurability(const Desired& desired) const;
  void Keep(const v1::DesiredState& set, bool durable);
  bool WaitsToBegin(const TaskKey& key) const;
  v1::DesiredState WithAwaited(const v1::DesiredState& set) const;
  void LookAgain(v1::DesiredState* set) const;

  using Questions = std::vector<std::pair<TaskKey, std::uint32_t>>;
  static Questions QuestionsIn(const v1::DesiredState& set);
  void Answer(const Questions& questions);
  std::int64_t ActivityOf(const TaskKey& key) const;
  std::int64_t GpuBusyAtOf(const TaskKey& key, TimePoint gpus_busy_at) const;

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
  void LogPhases();
  TmpWatch::Folders TmpFolders() const;

  boost::asio::io_context& io_;
  const AgentOptions& options_;
  const Hooks hooks_;
  const std::string boot_id_;
  const std::string groups_;  // the folder of the group above the tasks' groups; empty: there are none
  DesiredStore store_;
  const std::unique_ptr<Runtime> runtime_;
  boost::asio::steady_timer wake_;
  Desired desired_;        // as accepted
  LaunchOrders launches_;  // how its tasks are launched that are not there yet
  SecretsByTask secrets_;  // of these launches, which have their names alone
  LaunchOrders again_;     // of tasks whose paths the agent before this one was looking at: nothing was started
  StateDisk disk_;
  std::unique_ptr<v1::DesiredState> unsaved_;  // what the disk did not take
  TaskTable tasks_;
  Receipts receipts_;
  TaskStarter starter_;
  TmpWatch tmp_;
  EvidenceTaker evidence_;
  bool step_pending_ = false;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
