// The tasks of the agent before this one: whatever its folder holds, this one starts.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "nodeagent/os/run_program.h"
#include "nodeagent/os/unified_group.h"
#include "nodeagent/runtime/shim_runtime.h"
#include "nodeagent/runtime/spawn_shim.h"
#include "nodeagent/task/sealed_file.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

bool ParseKey(const std::string& name, TaskKey* key) {
  unsigned long long job = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "%llu.%u.%u%n", &job, &key->attempt, &key->index, &end) != 3) return false;
  key->job = job;
  return ToString(*key) == name && static_cast<std::size_t>(end) == name.size();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error;
}

// Whether anything was ever started from this folder: the launch file comes before all of these.
bool HasBegun(const TaskPaths& paths) {
  return Exists(paths.identity()) || Exists(paths.status()) || Exists(paths.record()) || Exists(paths.lock());
}

// Of a task whose launch file is of no use: as much as is needed to end it.
LaunchSpec LeastSpec(const TaskKey& key) {
  LaunchSpec spec;
  spec.task = ToString(key);
  spec.ranks.push_back({});
  return spec;
}

}  // namespace

Result<std::vector<TaskKey>> ShimRuntime::Adopt() {
  if (Status status = MakePrivateFolder(tasks_dir_); !status.ok()) return status;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(tasks_dir_, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return FileError("read", tasks_dir_, error.value());
  MakeLostFolders(&names);
  std::sort(names.begin(), names.end());
  std::vector<TaskKey> adopted;
  std::set<std::string> known;
  for (const std::string& name : names) {
    TaskKey key;
    const std::string folder = tasks_dir_ + "/" + name;
    if (name.starts_with(kRemovedPrefix)) RemoveTree(folder);
    if (!ParseKey(name, &key)) continue;
    if (!std::filesystem::is_directory(folder, error)) {
      (void)Unusable(Status(StatusCode::kDataLoss, "it is no folder"), folder);
      continue;
    }
    AdoptFolder(key, folder);
    if (!tasks_.contains(key)) continue;
    adopted.push_back(key);
    known.insert(name);
  }
  confinement_->SweepOthers(known);
  SweepGroups(known);
  return adopted;
}

// Logs it and moves it out of the way. What is told of the task.
std::string ShimRuntime::Unusable(const Status& why, const std::string& path) {
  const std::string place = SetAside(place_.state_dir, path);
  LogError("event=file_set_aside path={} now={} reason={}", Quoted(path), Quoted(place), Quoted(why.message()));
  return "the node's agent cannot use what it kept of the task: " + why.message();
}

// A task whose folder somebody has removed: what still runs of it is in its group. With an empty folder it is adopted
// like a task whose files cannot be used. Adds the names of these folders.
void ShimRuntime::MakeLostFolders(std::vector<std::string>* names) const {
  if (place_.groups.empty()) return;
  std::error_code error, gone;
  for (std::filesystem::directory_iterator it(place_.groups, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    TaskKey key;
    if (!it->is_directory(gone) || !ParseKey(name, &key)) continue;
    if (std::find(names->begin(), names->end(), name) != names->end()) continue;
    if (LookAtGroup(it->path().string()) != GroupState::kPopulated) continue;
    const TaskPaths paths(tasks_dir_ + "/" + name);
    Status made = MakeFolder(paths.folder);
    if (made.ok()) made = MakeFolder(paths.run());
    LogError("event=folder_missing path={} note=\"processes of the task run\" error={}", Quoted(paths.folder),
             Quoted(made.message()));
    if (made.ok()) names->push_back(name);
  }
}

void ShimRuntime::AdoptFolder(const TaskKey& key, const std::string& folder) {
  const TaskPaths paths(folder);
  const Result<std::string> text = ReadSealed(paths.launch(), kLaunchBytesMax);
  const bool is_missing = !text.ok() && text.status().code() == StatusCode::kNotFound;
  const std::string group = place_.groups.empty() ? "" : place_.groups + "/" + ToString(key);
  const bool is_populated = !group.empty() && LookAtGroup(group) == GroupState::kPopulated;
  if (is_missing && !HasBegun(paths) && !is_populated) {
    if (Status status = RemoveFolder(folder); !status.ok()) {
      LogError("event=folder_not_removed path={} error={}", Quoted(folder), Quoted(status.message()));
    }
    return;
  }
  Result<LaunchSpec> spec = text.ok() ? ParseLaunchSpec(*text) : Result<LaunchSpec>(text.status());
  std::string broken;
  if (is_missing) {
    broken = "the node's agent cannot use what it kept of the task: its launch.json is missing";
    LogError("event=file_missing path={}", Quoted(paths.launch()));
  } else if (!spec.ok()) {
    broken = Unusable(spec.status(), paths.launch());
  }
  if (!spec.ok()) spec = LeastSpec(key);
  // Of an earlier version's container, or of a launch file that does not say it any more.
  if (spec->group.empty() && !group.empty() && LookAtGroup(group) != GroupState::kNone) spec->group = group;
  ShimTask& task = *tasks_.emplace(key, NewTask(key, std::move(*spec))).first->second;
  task.broken = std::move(broken);
  if (task.spec.gpus > 0) (void)gpus_.TaskBegins(ToString(key));
  task.ReadGpusBefore();
  WatchFiles(task);
  if (const std::string more = ReadAdopted(task); task.broken.empty()) task.broken = more;
  if (task.status.ended) task.broken.clear();  // how it ended is known, whatever became of the other files
  Meet(task);
}

// What is wrong with the shim's files; empty: nothing. Each of them may be missing.
std::string ShimRuntime::ReadAdopted(ShimTask& task) {
  std::string broken;
  const Result<std::string> status = ReadSealed(task.paths.status(), kStatusBytesMax);
  const Status status_read = status.ok() ? ParseTaskStatus(*status).status() : status.status();
  if (!status_read.ok() && status_read.code() != StatusCode::kNotFound) {
    broken = Unusable(status_read, task.paths.status());
  }
  const Result<std::string> identity = ReadSealed(task.paths.identity(), kStatusBytesMax);
  const Status identity_read = identity.ok() ? ParseProcessIdentity(*identity).status() : identity.status();
  if (!identity_read.ok() && identity_read.code() != StatusCode::kNotFound) {
    broken = Unusable(identity_read, task.paths.identity());
  }
  task.ReadStatus();
  return broken;
}

// The shim of a task that was there before: it lives, it is being born, or it is no more.
void ShimRuntime::Meet(ShimTask& task) {
  if (Exists(task.paths.identity())) {
    AttachShim(task);
  } else if (ShimFileIsLocked(task.paths.lock())) {
    // Of a broken task it lives, and who it is nobody knows: its end shows in the lock.
    if (task.broken.empty()) {
      LookLater(task);
    } else {
      Look(task);
    }
  } else if (!task.broken.empty() || task.status.ended || task.status.started) {
    OnShimGone(task);
  } else {
    Refuse(task.key, "the node's agent stopped before the task was started");
  }
}

// With something in it a group stays: what nobody knows is left alone, and it may be another agent's.
void ShimRuntime::SweepGroups(const std::set<std::string>& known) {
  if (place_.groups.empty()) return;
  std::error_code error, gone;
  for (std::filesystem::directory_iterator it(place_.groups, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (!it->is_directory(gone) || known.contains(name) || RemoveGroup(it->path().string())) continue;
    LogWarning("event=unknown_group group={} note=\"processes are in it that no task of this agent has\"",
               Quoted(it->path().string()));
  }
}

// A task's /tmp may hold millions of files, or folders deeper than a program can follow with open descriptors.
void ShimRuntime::RemoveTree(const std::string& folder) { RunInBackground({"/bin/rm", "-rf", "--", folder}); }

}  // namespace glim::nodeagent
