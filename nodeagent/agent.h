// The agent of one node: keeps the tasks that the scheduler wants, and says what there is.
//
// Every event (a desired state, a rank's word, an exit, a timer) changes what is observed and asks for a step:
// Reconcile says what to do, the agent does it, and a report tells the scheduler. One loop owns all of it; no locks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <string>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/launch/agent_options.h"
#include "nodeagent/launch/launch_saves.h"
#include "nodeagent/launch/snapshot_unpacker.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/os/gpu_inventory.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/services/log_service.h"
#include "nodeagent/services/replica_supervisor.h"
#include "nodeagent/services/root_watch.h"
#include "nodeagent/sync/desired_store.h"
#include "nodeagent/sync/sync_session.h"
#include "nodeagent/task/task_socket.h"

namespace glim::nodeagent {

class Agent {
 public:
  // `options` are complete; `stub` outlives the agent, and the loop runs until Stop has let everything end.
  Agent(boost::asio::io_context& io, AgentOptions options, std::unique_ptr<GpuInventory> gpus,
        v1::AgentApi::StubInterface* stub, std::uint64_t seed);
  ~Agent();

  // Adopts what is there, and connects when the node's replica service has told its address, or does not come.
  Status Start();
  // The agent goes, the tasks and the replica service stay.
  void Stop();

 private:
  struct Task;

  Status AdoptTasks();
  void MakeStreams();
  Status StartReplica();
  void OnDesired(v1::DesiredState set);
  bool NeedsDurability(const Desired& desired) const;
  void OnRuntimeChange(const TaskKey& key);

  void StepSoon();
  void Step();
  Observed Observe() const;
  void CarryOut(const Action& action);
  void Launch(const TaskKey& key);
  void Begin(const TaskKey& key, const std::string& snapshot);
  void OnUnpacked(const TaskKey& key, const Status& unpacked);
  void StartTask(const TaskKey& key);
  void OnSaveReady(const TaskKey& key, const SaveOutcome& outcome);
  void StopBeforeStart(Task& task, const Action& action);
  void RefuseLaunch(Task& task, const std::string& message);
  Status OpenSocket(Task& task);
  void SendSignal(Task& task, const Interrupt& interrupt);
  void StopTask(Task& task, const Action& action);
  void Forget(const TaskKey& key);
  Status SaveRecord(const Task& task) const;

  v1::Hello MakeHello() const;
  v1::NodeReport MakeReport() const;
  v1::LogChunk MakeIntroduction() const;
  bool LogIsOpen(std::uint64_t job, std::uint32_t attempt) const;
  void PruneOldLogs();

  boost::asio::io_context& io_;
  const AgentOptions options_;
  const std::map<std::string, std::string> base_environment_;
  const std::unique_ptr<GpuInventory> gpus_;
  v1::AgentApi::StubInterface* const stub_;
  const std::uint64_t seed_;
  std::string boot_id_;
  FolderWatch watch_;
  DesiredStore store_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<SnapshotUnpacker> unpacker_;
  std::unique_ptr<SyncSession> sync_;
  std::unique_ptr<LogService> logs_;
  boost::asio::steady_timer wake_;
  v1::DesiredState wanted_;  // as accepted: launches are looked up in it
  Desired desired_;          // the same, for Reconcile
  std::map<TaskKey, Task> tasks_;
  std::unique_ptr<ReplicaSupervisor> replica_;
  LaunchSaves saves_;
  RootWatch root_;
  bool connecting_ = false;
  bool step_pending_ = false;
  bool stopped_ = false;
};

// Boot time: does not jump, and goes on through the agent's restarts.
TimePoint BootNow();

}  // namespace glim::nodeagent
