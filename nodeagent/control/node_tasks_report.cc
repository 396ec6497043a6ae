#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "nodeagent/control/node_tasks.h"
#include "nodeagent/launch/node_folders.h"
#include "nodeagent/task/log_files.h"

namespace glim::nodeagent {
namespace {

std::int64_t ChangedAtMs(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return 0;
  return about.st_mtim.tv_sec * 1000 + about.st_mtim.tv_nsec / 1'000'000;
}

}  // namespace

NodeTasks::Questions NodeTasks::QuestionsIn(const v1::DesiredState& set) {
  Questions questions;
  for (const v1::DesiredTask& task : set.tasks()) {
    questions.emplace_back(KeyOf(task.attempt(), task.index()), task.evidence());
  }
  return questions;
}

void NodeTasks::Answer(const Questions& questions) {
  for (const auto& [key, question] : questions) {
    const auto it = tasks_.find(key);
    if (!evidence_.IsNew(key, question) || it == tasks_.end() || !it->second.in_runtime) continue;
    const LaunchSpec& spec = runtime_->SpecOf(key);
    EvidenceOrder order;
    for (const RankStatus& rank : runtime_->Inspect(key).ranks) order.ranks.push_back({rank.rank, rank.pid});
    order.processes = runtime_->ProcessesOf(key, 4 * kEvidenceProcessesMax);
    order.user = spec.user;
    evidence_.Take(key, question, order, spec.log_folder + "/task-" + std::to_string(key.index) + ".stacks");
  }
}

void NodeTasks::Report(std::optional<TimePoint> gpus_busy_at, v1::NodeReport* report) const {
  report->set_epoch(desired_.revision.epoch);
  report->set_revision(desired_.revision.revision);
  disk_.Report(report);
  report->set_site_fault(starter_.site_fault());
  for (const auto& [key, task] : tasks_) {
    const TaskSocket* socket = task.socket.get();
    v1::ObservedTask* out = report->add_tasks();
    ToProto(
        key, InspectTask(*runtime_, key, task), socket ? &socket->ranks() : nullptr,
        [&](std::uint32_t rank) { return socket && socket->connected(rank); }, out);
    starter_.Report(key, out);
    evidence_.Report(key, out);
    out->set_left_behind(task.left.count);
    out->set_left_names(task.left.names);
    if (task.in_runtime) out->set_activity_at_ms(ActivityOf(key));
    if (task.in_runtime && gpus_busy_at) out->set_gpu_busy_at_ms(GpuBusyAtOf(key, *gpus_busy_at));
    out->set_save_missing(task.save_missing);
    out->set_receipt(receipts_.Of(key));
    const std::string own = OwnCheckpointFolder(options_.state_dir, key.job);
    if (task.in_runtime && runtime_->SpecOf(key).checkpoint_folder == own) SetLocalPaths(own, out);
  }
}

// The files of a task that change with what it does: its ranks' output, and what they say on the task socket. So an
// agent that was restarted says the same as the one before it, and nobody keeps a clock.
std::int64_t NodeTasks::ActivityOf(const TaskKey& key) const {
  const LaunchSpec& spec = runtime_->SpecOf(key);
  const TaskPaths paths(runtime_->FolderOf(key));
  std::int64_t newest = std::max(ChangedAtMs(paths.status()), ChangedAtMs(paths.ranks()));
  for (const RankLaunch& rank : spec.ranks) newest = std::max(newest, ChangedAtMs(LogPath(spec.log_folder, rank.rank)));
  return newest;
}

// A task has all of its node's GPUs, or none. What they did before it is not its own.
std::int64_t NodeTasks::GpuBusyAtOf(const TaskKey& key, TimePoint gpus_busy_at) const {
  if (runtime_->SpecOf(key).gpus == 0) return 0;
  return std::max(gpus_busy_at.ms, ChangedAtMs(TaskPaths(runtime_->FolderOf(key)).launch()));
}

}  // namespace glim::nodeagent
