#include <filesystem>

#include "nodeagent/control/node_tasks.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/task/rank_state.h"
#include "nodeagent/task/sealed_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kRecordBytesMax = std::size_t{64} * 1024;
constexpr std::size_t kRanksBytesMax = std::size_t{16} * 1024 * 1024;

void SetAsideUnlessUsable(const std::string& state_dir, const std::string& path, const Status& read) {
  if (read.ok() || read.code() == StatusCode::kNotFound) return;
  const std::string place = SetAside(state_dir, path);
  LogError("event=file_set_aside path={} now={} reason={}", Quoted(path), Quoted(place), Quoted(read.message()));
}

}  // namespace

Status NodeTasks::AdoptTasks() {
  Result<std::vector<TaskKey>> keys = runtime_->Adopt();
  if (!keys.ok()) return keys.status();
  for (const TaskKey& key : *keys) AdoptTask(key);
  return Status::Ok();
}

void NodeTasks::AdoptTask(const TaskKey& key) {
  AgentTask& task = tasks_[key];
  task.seen.key = key;
  task.in_runtime = true;
  const TaskPaths paths(runtime_->FolderOf(key));
  const Result<std::string> text = ReadSealed(paths.record(), kRecordBytesMax);
  const Result<TaskRecord> record = text.ok() ? ParseTaskRecord(*text) : Result<TaskRecord>(text.status());
  // How far a stop had got the desired state says again; what the ranks said before is gone.
  if (record.ok()) task.record = *record;
  SetAsideUnlessUsable(options_.state_dir, paths.record(), record.status());
  const Result<std::string> words = ReadSealed(paths.ranks(), kRanksBytesMax);
  SetAsideUnlessUsable(options_.state_dir, paths.ranks(),
                       words.ok() ? ParseRankStates(*words).status() : words.status());
  // Its ranks cannot be heard without a socket, but they run on, and stopping them works.
  if (Status status = starter_.OpenSocket(task); !status.ok()) {
    LogError("event=task_socket_failed task={} error={}", ToString(key), Quoted(status.message()));
  }
  LogInfo("event=task_adopted task={}", ToString(key));
}

// Whether it is known, and nothing of it was begun but a look at its paths and its prolog.
bool NodeTasks::WaitsToBegin(const TaskKey& key) const {
  const auto it = tasks_.find(key);
  if (it == tasks_.end() || !CanBeginAgain(it->second.launch)) return false;
  if (starter_.InProlog(key)) return !it->second.record.terminated;
  if (it->second.in_runtime || it->second.waits_to_start) return false;
  return it->second.fixed.phase == Phase::kStarting;
}

// Of tasks whose prolog ended with the agent before: nothing else of them was begun, so they are launched again, prolog
// and all. Without an order for that (one to stop came meanwhile, or the task was to go on from a save) the runtime
// says what became of the task.
void NodeTasks::RemoveUnbegun(const std::set<TaskKey>& cut_off) {
  for (const TaskKey& key : cut_off) {
    const auto order = launches_.find(key);
    if (order == launches_.end() || order->second.has_base()) continue;
    const TaskPaths paths(runtime_->FolderOf(key));
    std::error_code error;
    bool has_begun = false;
    for (const std::string& file : {paths.identity(), paths.lock(), paths.status(), paths.record()}) {
      has_begun = has_begun || std::filesystem::exists(file, error) || error;
    }
    if (!has_begun) (void)RunProgram({"/bin/rm", "-rf", "--", paths.folder}, "/dev/null");
  }
}

// As the scheduler says it, with the orders that it says no more since it has heard of these tasks: an agent that
// starts now looks again.
v1::DesiredState NodeTasks::WithAwaited(const v1::DesiredState& set) const {
  v1::DesiredState kept = set;
  for (v1::DesiredTask& task : *kept.mutable_tasks()) {
    const TaskKey key = KeyOf(task.attempt(), task.index());
    if (!task.has_launch() && !task.has_stop() && WaitsToBegin(key)) *task.mutable_launch() = tasks_.at(key).launch;
  }
  return kept;
}

// The other end of that.
void NodeTasks::LookAgain(v1::DesiredState* set) const {
  for (v1::DesiredTask& task : *set->mutable_tasks()) {
    const TaskKey key = KeyOf(task.attempt(), task.index());
    const auto order = again_.find(key);
    if (order == again_.end() || task.has_launch() || task.has_stop() || tasks_.contains(key)) continue;
    LogInfo("event=task_looked_at_again task={} note=\"the agent was restarted before it was started\"", ToString(key));
    *task.mutable_launch() = order->second;
  }
}

// Ordered in another life of this machine, and nothing is there of them: a folder that was not synced goes with the
// power, the order did not. They may have run, so they are not started again.
void NodeTasks::ReportLostStarts(const std::string& boot_id) {
  if (boot_id.empty() || boot_id == boot_id_) return;
  for (const DesiredTask& wanted : desired_.tasks) {
    if (!wanted.launch || tasks_.contains(wanted.key)) continue;
    LogWarning("event=task_lost task={} note=\"ordered before the node was started anew\"", ToString(wanted.key));
    AgentTask& task = tasks_[wanted.key];
    task.seen.key = wanted.key;
    task.fixed.phase = Phase::kReleased;
    task.fixed.lost = true;
    task.fixed.message = "the node was started anew when the task was to run or ran";
  }
}

}  // namespace glim::nodeagent
