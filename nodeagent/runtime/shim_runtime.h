// The runtime: each task under a glim-shim of its own, its state in STATE_DIR/tasks/KEY/, its processes confined as
// the Confinement says (a container, or nothing).
//
// Who is there is known from the shim's pidfd (it ends last of all) and its status file; only when a shim was killed,
// or something has to be waited for that gives no sign, /proc is looked at again every few ten milliseconds.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <string>

#include "nodeagent/confinement/confinement.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/os/gpu_inventory.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/runtime/shim_task.h"

namespace glim::nodeagent {

class ShimRuntime final : public Runtime {
 public:
  // References outlive the runtime. `shim` is the program's path.
  ShimRuntime(boost::asio::io_context& io, FolderWatch& watch, GpuInventory& gpus, std::string state_dir,
              std::string shim, std::string boot_id, std::unique_ptr<Confinement> confinement, OnChange on_change);
  ~ShimRuntime() override;

  std::string name() const override { return confinement_->name(); }
  Result<std::vector<TaskKey>> Adopt() override;
  Status Create(const TaskKey& key, const LaunchSpec& spec) override;
  void Start(const TaskKey& key) override;
  void Refuse(const TaskKey& key, const std::string& message) override;
  Status Signal(const TaskKey& key, int signal) override;
  void Terminate(const TaskKey& key) override;
  void Kill(const TaskKey& key) override;
  Inspection Inspect(const TaskKey& key) const override;
  std::vector<pid_t> Census(const TaskKey& key) const override;
  const LaunchSpec& SpecOf(const TaskKey& key) const override;
  std::string FolderOf(const TaskKey& key) const override;
  void Cleanup(const TaskKey& key) override;
  void Stop() override;

 private:
  using Step = void (ShimRuntime::*)(ShimTask&);

  std::function<void(const boost::system::error_code&)> WithTask(const ShimTask& task, Step step);
  ShimTask& Get(const TaskKey& key) const;
  std::unique_ptr<ShimTask> NewTask(const TaskKey& key, LaunchSpec spec);
  Status AdoptFolder(const TaskKey& key, const std::string& folder);
  Status Spawn(ShimTask& task);
  void AwaitSpawned(ShimTask& task);
  void OnSpawned(ShimTask& task);
  void AttachShim(ShimTask& task);
  void OnShimGone(ShimTask& task);
  void WatchStatus(ShimTask& task);
  void Look(ShimTask& task);
  void LookLater(ShimTask& task);
  void OnTimer(ShimTask& task);
  void Notify(const TaskKey& key);

  boost::asio::io_context& io_;
  FolderWatch& watch_;
  GpuInventory& gpus_;
  const std::string tasks_dir_;
  const std::string shim_;
  const std::string boot_id_;
  const std::unique_ptr<Confinement> confinement_;
  const OnChange on_change_;
  std::map<TaskKey, std::unique_ptr<ShimTask>> tasks_;
};

}  // namespace glim::nodeagent
