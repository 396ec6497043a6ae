// Sources: shim_runtime.cc, shim_adopt.cc (the tasks of the agent before this one).
// The runtime: each task under a glim-shim of its own, its state in STATE_DIR/tasks/KEY/, its processes confined as
// the Confinement says (a container, or nothing).
//
// Who is there is known from the shim's pidfd (it ends last of all), its status file, and the task's group, which tells
// when the last process in it has gone: a task is released when its shim is gone and its group is empty. Where there
// are no groups, and what is left of a task whose shim was killed has to be found, /proc is looked at (ProcessCensus).
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nodeagent/confinement/confinement.h"
#include "nodeagent/hardware/gpu_inventory.h"
#include "nodeagent/os/folder_watch.h"
#include "nodeagent/os/late_flusher.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/runtime/shim_task.h"

namespace glim::nodeagent {

class ShimRuntime final : public Runtime {
 public:
  struct Place {
    std::string state_dir;
    std::string shim;  // the program's path
    std::string boot_id;
    std::string groups;  // the folder of the group above the tasks' groups; empty: there are none
    // For a shim to start its ranks. It uses what the job names, which may have begun to hang since it was looked at.
    std::chrono::seconds start_limit{30};
  };

  // References outlive the runtime.
  ShimRuntime(boost::asio::io_context& io, FolderWatch& watch, GpuInventory& gpus, Place place,
              std::unique_ptr<Confinement> confinement, OnChange on_change);
  ~ShimRuntime() override;

  std::string name() const override { return confinement_->name(); }
  Result<std::vector<TaskKey>> Adopt() override;
  Status Create(const TaskKey& key, const LaunchSpec& spec, const PathAnswers& found) override;
  PathOrder PathsOf(const LaunchSpec& spec) const override { return confinement_->PathsOf(spec); }
  void Start(const TaskKey& key) override;
  void Refuse(const TaskKey& key, const std::string& message) override;
  Status AskToLeave(const TaskKey& key, const SignalOrder& order) override;
  void Terminate(const TaskKey& key) override;
  void Kill(const TaskKey& key) override;
  void Condemn(const TaskKey& key, const std::string& reason) override;
  Inspection Inspect(const TaskKey& key) const override;
  std::vector<pid_t> ProcessesOf(const TaskKey& key, std::size_t max) override;
  const LaunchSpec& SpecOf(const TaskKey& key) const override;
  std::string FolderOf(const TaskKey& key) const override;
  void Cleanup(const TaskKey& key) override;
  void Stop() override;

 private:
  using Step = void (ShimRuntime::*)(ShimTask&);
  static constexpr const char* kRemovedPrefix = ".removed-";
  static void RemoveTree(const std::string& folder);  // in the background

  std::function<void(const boost::system::error_code&)> WithTask(const ShimTask& task, Step step);
  ShimTask& Get(const TaskKey& key) const;
  std::unique_ptr<ShimTask> NewTask(const TaskKey& key, LaunchSpec spec);
  void MakeLostFolders(std::vector<std::string>* names) const;
  void AdoptFolder(const TaskKey& key, const std::string& folder);
  std::string ReadAdopted(ShimTask& task);
  std::string Unusable(const Status& why, const std::string& path);
  void Meet(ShimTask& task);
  void SweepGroups(const std::set<std::string>& known);
  Status Prepare(const TaskKey& key, const PathAnswers& found, LaunchSpec* spec);
  Status Spawn(ShimTask& task);
  void AwaitSpawned(ShimTask& task);
  void OnSpawned(ShimTask& task);
  void AttachShim(ShimTask& task);
  void WaitForShim(ShimTask& task);
  void OnShimEvent(ShimTask& task);
  void OnShimGone(ShimTask& task);
  void AwaitStart(ShimTask& task);
  void OnLate(ShimTask& task);
  void SeeWhoStays(ShimTask& task);
  void WatchFiles(ShimTask& task);
  void WatchGroup(ShimTask& task);
  void Look(ShimTask& task);
  bool HasFreeGpus(ShimTask& task);
  void LookLater(ShimTask& task);
  void OnTimer(ShimTask& task);
  void Notify(const TaskKey& key);

  boost::asio::io_context& io_;
  FolderWatch& watch_;
  GpuInventory& gpus_;
  const Place place_;
  const std::string tasks_dir_;
  ProcessCensus census_;
  const std::unique_ptr<Confinement> confinement_;
  const OnChange on_change_;
  LateFlusher flusher_;  // of exit statuses
  std::map<TaskKey, std::unique_ptr<ShimTask>> tasks_;
};

}  // namespace glim::nodeagent
