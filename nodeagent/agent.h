// The agent of one node: keeps the tasks that the scheduler wants, and says what there is.
//
// It wires the parts together: NodeTasks keeps the tasks, SyncSession speaks with the scheduler, beside them stand the
// services of the node. One loop owns all of it; no locks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "glim/v1/agent_api.grpc.pb.h"
#include "nodeagent/control/node_tasks.h"
#include "nodeagent/hardware/gpu_inventory.h"
#include "nodeagent/metrics/agent_metrics.h"
#include "nodeagent/options/agent_options.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/services/hardware_watch.h"
#include "nodeagent/services/health_watch.h"
#include "nodeagent/services/log_export.h"
#include "nodeagent/services/log_service.h"
#include "nodeagent/services/reach_watch.h"
#include "nodeagent/services/replica_watch.h"
#include "nodeagent/services/root_watch.h"
#include "nodeagent/services/save_collector.h"
#include "nodeagent/services/save_service.h"
#include "nodeagent/services/socket_watch.h"
#include "nodeagent/sync/epoch_bound.h"
#include "nodeagent/sync/stub_source.h"
#include "nodeagent/sync/sync_session.h"

namespace glim::nodeagent {

class Agent {
 public:
  // `options` are complete, `found` is what the node's hardware is; the loop runs until Stop has let everything end.
  Agent(boost::asio::io_context& io, AgentOptions options, Inventory found, StubSource stub, std::uint64_t seed);
  ~Agent();

  // Adopts what is there, and connects.
  Status Start();
  // `stub` gives another one from now on: connects again by it. Tasks notice nothing.
  void Reconnect();
  // What else is done with each Welcome. Before Start.
  void set_on_welcome(std::function<void(const v1::Welcome&)> on_welcome) { on_welcome_ = std::move(on_welcome); }
  // The agent goes, the tasks stay. After a Start that succeeded.
  void Stop();
  // After Start: the folder of the control group below which each task has its own; empty: they have none.
  const std::string& task_groups() const { return tasks_->groups(); }

 private:
  void MakeMetrics();
  void MakeStreams();
  Status Believe(const v1::SchedulerMessage& message);
  v1::Hello MakeHello() const;
  v1::NodeReport MakeReport() const;
  v1::LogChunk MakeIntroduction() const;

  boost::asio::io_context& io_;
  const AgentOptions options_;
  const StubSource stub_;
  const std::uint64_t seed_;
  std::string boot_id_;
  HardwareWatch hardware_;
  const std::unique_ptr<GpuInventory> gpus_;
  FolderWatch watch_;
  std::unique_ptr<NodeTasks> tasks_;
  std::unique_ptr<EpochBound> epochs_;
  std::unique_ptr<SyncSession> sync_;
  std::unique_ptr<LogService> logs_;
  LogExport log_export_;
  ReplicaWatch replica_;
  SaveService saves_;
  RootWatch root_;
  SocketWatch sockets_;
  HealthWatch health_;
  ReachWatch reach_;
  SaveCollector collector_;
  std::unique_ptr<AgentMetrics> metrics_;  // null: not configured, or its port is taken
  std::function<void(const v1::Welcome&)> on_welcome_;
  bool stopped_ = false;
};

}  // namespace glim::nodeagent
