#include "nodeagent/runtime/shim_runtime.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "nodeagent/os/run_program.h"
#include "nodeagent/runtime/spawn_shim.h"
#include "nodeagent/task/shim_control.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;
constexpr std::size_t kPidsReportedMax = 32;
constexpr int kDirectKillAfter = 10;
constexpr int kEmptyLooksWhenLost = 2;
constexpr std::chrono::milliseconds kLookWaiting{50};  // the longest pause while a release is waited for
constexpr std::chrono::milliseconds kLookIdle{1000};   // and while nothing but evidence is
constexpr const char* kTrashPrefix = ".removed-";

bool ParseKey(const std::string& name, TaskKey* key) {
  unsigned long long job = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "%llu.%u.%u%n", &job, &key->attempt, &key->index, &end) != 3) return false;
  key->job = job;
  return ToString(*key) == name && static_cast<std::size_t>(end) == name.size();
}

// A task's /tmp may hold millions of files, or folders deeper than a program can follow with open descriptors.
void RemoveInBackground(const std::string& folder) { RunInBackground({"/bin/rm", "-rf", "--", folder}); }

bool LockIsHeld(const TaskPaths& paths) { return !LockShimFile(paths.lock()).ok(); }

}  // namespace

ShimRuntime::ShimRuntime(asio::io_context& io, FolderWatch& watch, GpuInventory& gpus, std::string state_dir,
                         std::string shim, std::string boot_id, std::unique_ptr<Confinement> confinement,
                         OnChange on_change)
    : io_(io),
      watch_(watch),
      gpus_(gpus),
      tasks_dir_(state_dir + "/tasks"),
      shim_(std::move(shim)),
      boot_id_(std::move(boot_id)),
      confinement_(std::move(confinement)),
      on_change_(std::move(on_change)) {}

ShimRuntime::~ShimRuntime() = default;

ShimTask& ShimRuntime::Get(const TaskKey& key) const {
  const auto it = tasks_.find(key);
  GLIM_CHECK(it != tasks_.end(), "no task " + ToString(key));
  return *it->second;
}

std::string ShimRuntime::FolderOf(const TaskKey& key) const { return tasks_dir_ + "/" + ToString(key); }
const LaunchSpec& ShimRuntime::SpecOf(const TaskKey& key) const { return Get(key).spec; }

void ShimRuntime::Notify(const TaskKey& key) {
  // Never from within a call of the owner's.
  asio::post(io_, [this, key] { on_change_(key); });
}

std::unique_ptr<ShimTask> ShimRuntime::NewTask(const TaskKey& key, LaunchSpec spec) {
  return std::make_unique<ShimTask>(io_, key, FolderOf(key), std::move(spec));
}

Result<std::vector<TaskKey>> ShimRuntime::Adopt() {
  if (Status status = MakePrivateFolder(tasks_dir_); !status.ok()) return status;
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(tasks_dir_, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error) return FileError("read", tasks_dir_, error.value());
  std::vector<TaskKey> adopted;
  for (const std::string& name : names) {
    TaskKey key;
    const std::string folder = tasks_dir_ + "/" + name;
    if (name.starts_with(kTrashPrefix)) RemoveInBackground(folder);
    if (!ParseKey(name, &key)) continue;
    if (Status status = AdoptFolder(key, folder); !status.ok()) return status;
    if (tasks_.contains(key)) adopted.push_back(key);
  }
  std::set<std::string> known;
  for (const TaskKey& key : adopted) known.insert(ToString(key));
  confinement_->SweepOthers(known);
  return adopted;
}

Status ShimRuntime::AdoptFolder(const TaskKey& key, const std::string& folder) {
  const TaskPaths paths(folder);
  const Result<std::string> text = ReadFile(paths.launch(), kLaunchBytesMax);
  // Without a launch file nothing was ever started from this folder.
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return RemoveFolder(folder);
  Result<LaunchSpec> spec = text.ok() ? ParseLaunchSpec(*text) : Result<LaunchSpec>(text.status());
  if (!spec.ok()) return Status(spec.status().code(), folder + ": " + spec.status().message());
  ShimTask& task = *tasks_.emplace(key, NewTask(key, std::move(*spec))).first->second;
  WatchStatus(task);
  task.ReadStatus();
  if (std::filesystem::exists(paths.identity())) {
    AttachShim(task);
  } else if (LockIsHeld(paths)) {
    LookLater(task);  // the shim is just being born
  } else if (task.status.ended) {
    OnShimGone(task);
  } else {
    Refuse(key, "the node's agent stopped before the task was started");
  }
  return Status::Ok();
}

Status ShimRuntime::Create(const TaskKey& key, const LaunchSpec& spec) {
  GLIM_CHECK(!tasks_.contains(key), "created twice: " + ToString(key));
  const TaskPaths paths(FolderOf(key));
  LaunchSpec confined = spec;
  Status status = MakeFolder(paths.folder);
  if (status.ok()) status = MakeFolder(paths.run());
  if (status.ok()) status = MakeFolders(spec.log_folder);
  if (status.ok() && !spec.code_folder.empty()) status = MakeFolder(spec.code_folder);
  if (status.ok()) status = confinement_->Prepare(paths, &confined);
  if (status.ok()) status = WriteFileAtomically(paths.launch(), ToJson(confined), Durability::kProcess);
  if (!status.ok()) {
    (void)RemoveFolder(paths.folder);
    return status;
  }
  WatchStatus(*tasks_.emplace(key, NewTask(key, std::move(confined))).first->second);
  return Status::Ok();
}

void ShimRuntime::Start(const TaskKey& key) {
  ShimTask& task = Get(key);
  if (Status status = Spawn(task); !status.ok()) Refuse(key, status.message());
}

void ShimRuntime::Refuse(const TaskKey& key, const std::string& message) {
  ShimTask& task = Get(key);
  task.status.start_failed = true;
  task.status.ended = true;
  task.status.message = message;
  // Written down so that a restart of the agent says the same; if that fails, so will every start here.
  (void)WriteFileAtomically(task.paths.status(), ToJson(task.status), Durability::kProcess);
  OnShimGone(task);
}

Status ShimRuntime::Spawn(ShimTask& task) {
  Result<UniqueFd> lock = LockShimFile(task.paths.lock());
  if (!lock.ok()) return lock.status();
  Result<pid_t> pid = SpawnShim(shim_, task.paths, lock->get());
  if (!pid.ok()) return pid.status();
  task.spawner_pid = *pid;
  UniqueFd fd(OpenPidfd(*pid));
  if (!fd) return FileError("watch", "glim-shim", errno);
  task.spawner.assign(fd.Release());
  AwaitSpawned(task);
  return Status::Ok();
}

// A completion handler that does nothing when the wait was called off or the task has been cleaned up meanwhile.
std::function<void(const boost::system::error_code&)> ShimRuntime::WithTask(const ShimTask& task, Step step) {
  return [this, key = task.key, step](const boost::system::error_code& error) {
    const auto it = tasks_.find(key);
    if (!error && it != tasks_.end()) (this->*step)(*it->second);
  };
}

void ShimRuntime::AwaitSpawned(ShimTask& task) {
  task.spawner.async_wait(asio::posix::stream_descriptor::wait_read, WithTask(task, &ShimRuntime::OnSpawned));
}

void ShimRuntime::OnSpawned(ShimTask& task) {
  task.spawner.close();
  int wait_status = 0;
  const pid_t reaped = ::waitpid(task.spawner_pid, &wait_status, 0);
  if (reaped == task.spawner_pid && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
    AttachShim(task);
    Notify(task.key);
    return;
  }
  const Result<std::string> words = ReadFile(task.paths.shim_log(), 64 * 1024);
  Refuse(task.key, "glim-shim could not start the task: " + (words.ok() && !words->empty() ? *words : "it was killed"));
}

void ShimRuntime::AttachShim(ShimTask& task) {
  const Result<std::string> text = ReadFile(task.paths.identity(), kStatusBytesMax);
  Result<ProcessIdentity> identity = text.ok() ? ParseProcessIdentity(*text) : Result<ProcessIdentity>(text.status());
  if (identity.ok()) task.identity = *identity;
  UniqueFd fd = OpenProcess(task.identity, boot_id_);
  task.ReadStatus();
  if (!fd) {
    OnShimGone(task);
    return;
  }
  task.shim.assign(fd.Release());
  task.shim.async_wait(asio::posix::stream_descriptor::wait_read, WithTask(task, &ShimRuntime::OnShimGone));
  if (task.all_exited()) Look(task);
}

void ShimRuntime::OnShimGone(ShimTask& task) {
  boost::system::error_code ignored;
  task.shim.close(ignored);
  task.ReadStatus();
  task.shim_gone = true;
  task.pause = kLookFirst;
  Look(task);
  Notify(task.key);
}

void ShimRuntime::WatchStatus(ShimTask& task) {
  Result<FolderWatch::Id> watch = watch_.Add(task.paths.folder, [this, &task] {
    if (!task.ReadStatus()) return;
    if (task.all_exited() && !task.shim_gone) LookLater(task);
    Notify(task.key);
  });
  // Without inotify (its limits are small on some machines) the task is looked at by the clock instead.
  if (watch.ok()) {
    task.watch = *watch;
  } else {
    LookLater(task);
  }
}

// Looks at what is left, once the ranks have ended or the shim is gone, and comes back while anything is.
void ShimRuntime::Look(ShimTask& task) {
  if (task.released) return;
  const std::vector<pid_t> before = std::exchange(task.pids, {});
  for (const ProcessInfo& process : task.Find(boot_id_)) {
    if (task.pids.size() < kPidsReportedMax) task.pids.push_back(process.pid);
  }
  if (task.shim_gone && task.pids.empty()) {
    // Nobody vouches for a task whose shim was killed, and a process that forks can slip through one scan.
    const bool sure = !task.lost() || ++task.empty_looks >= kEmptyLooksWhenLost;
    task.gpu_busy = task.spec.gpus > 0 && !gpus_.MemoryFree();
    task.released = sure && !task.gpu_busy;
  } else {
    task.empty_looks = 0;
  }
  if (task.pids != before || task.released) Notify(task.key);
  if (!task.released) LookLater(task);
}

void ShimRuntime::LookLater(ShimTask& task) {
  task.timer.expires_after(task.pause);
  task.pause = std::min(task.pause * 2, task.stopping || task.shim_gone ? kLookWaiting : kLookIdle);
  task.timer.async_wait(WithTask(task, &ShimRuntime::OnTimer));
}

void ShimRuntime::OnTimer(ShimTask& task) {
  if (task.shim.is_open() || task.shim_gone) {
    if (task.ReadStatus()) Notify(task.key);
    if (task.shim_gone || task.all_exited()) {
      Look(task);
    } else if (task.watch == 0) {
      LookLater(task);
    }
  } else if (task.spawner.is_open()) {
    LookLater(task);  // OnSpawned attaches
  } else if (std::filesystem::exists(task.paths.identity())) {
    AttachShim(task);
    Notify(task.key);
  } else if (LockIsHeld(task.paths)) {
    LookLater(task);
  } else {
    Refuse(task.key, "glim-shim ended before it could start the task");
  }
}

Status ShimRuntime::Signal(const TaskKey& key, int signal) {
  ShimTask& task = Get(key);
  if (task.shim.is_open() && QueueSignal(task.shim.native_handle(), SignalRanksSignal(), signal)) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "the task's supervisor is gone");
}

void ShimRuntime::Terminate(const TaskKey& key) {
  ShimTask& task = Get(key);
  task.stopping = true;
  if (!task.shim.is_open() || !QueueSignal(task.shim.native_handle(), TerminateSignal(), 0)) {
    task.SignalLeftovers(boot_id_, SIGTERM);
  }
}

void ShimRuntime::Kill(const TaskKey& key) {
  ShimTask& task = Get(key);
  task.stopping = true;
  ++task.kills;
  bool told = false;
  if (task.shim.is_open()) {
    // A shim that somebody has stopped would not hear it.
    (void)::syscall(SYS_pidfd_send_signal, task.shim.native_handle(), SIGCONT, nullptr, 0);
    told = QueueSignal(task.shim.native_handle(), KillSignal(), 0);
  }
  if (!told || task.kills > kDirectKillAfter) task.SignalLeftovers(boot_id_, SIGKILL);
}

Inspection ShimRuntime::Inspect(const TaskKey& key) const { return Get(key).Inspect(boot_id_); }

std::vector<pid_t> ShimRuntime::Census(const TaskKey& key) const {
  std::vector<pid_t> pids;
  for (const ProcessInfo& process : Get(key).Find(boot_id_)) pids.push_back(process.pid);
  return pids;
}

void ShimRuntime::Cleanup(const TaskKey& key) {
  ShimTask& task = Get(key);
  GLIM_CHECK(task.released, "cleanup of a task that is still there: " + ToString(key));
  watch_.Remove(task.watch);
  confinement_->Sweep(task.spec);
  // Renamed first: a half-removed folder must not look like a task to the next agent.
  const std::string trash = tasks_dir_ + "/" + kTrashPrefix + ToString(key);
  if (::rename(task.paths.folder.c_str(), trash.c_str()) == 0) RemoveInBackground(trash);
  tasks_.erase(key);
}

void ShimRuntime::Stop() {
  boost::system::error_code ignored;
  for (auto& [key, task] : tasks_) {
    task->shim.close(ignored);
    task->spawner.close(ignored);
    task->timer.cancel();
    watch_.Remove(task->watch);
  }
}

}  // namespace glim::nodeagent
