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
#include "nodeagent/runtime/shim_control.h"
#include "nodeagent/runtime/spawn_shim.h"
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
constexpr std::chrono::milliseconds kLookFirst{25};
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

struct ShimRuntime::Task {
  Task(asio::io_context& io, TaskKey task_key, std::string folder, LaunchSpec launch)
      : key(task_key), paths(std::move(folder)), spec(std::move(launch)), shim(io), spawner(io), timer(io) {}

  const TaskKey key;
  const TaskPaths paths;
  const LaunchSpec spec;
  TaskStatus status;
  RankCauses causes;
  std::string status_text;  // as last read
  ProcessIdentity identity;
  asio::posix::stream_descriptor shim;     // pidfd; open while it is there
  asio::posix::stream_descriptor spawner;  // pidfd of the process that exits when the shim stands
  asio::steady_timer timer;                // the next look at what is left
  std::chrono::milliseconds pause = kLookFirst;
  pid_t spawner_pid = 0;
  FolderWatch::Id watch = 0;
  std::vector<pid_t> pids;
  int kills = 0;
  int empty_looks = 0;
  bool stopping = false;  // somebody waits for its end
  bool shim_gone = false;
  bool released = false;
  bool gpu_busy = false;

  bool lost() const { return shim_gone && !status.ended; }
  bool all_exited() const {
    return (status.started || status.start_failed) &&
           std::all_of(status.ranks.begin(), status.ranks.end(), [](const RankStatus& r) { return r.exited; });
  }
};

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

ShimRuntime::Task& ShimRuntime::Get(const TaskKey& key) const {
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

std::unique_ptr<ShimRuntime::Task> ShimRuntime::NewTask(const TaskKey& key, LaunchSpec spec) {
  return std::make_unique<Task>(io_, key, FolderOf(key), std::move(spec));
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
  Task& task = *tasks_.emplace(key, NewTask(key, std::move(*spec))).first->second;
  WatchStatus(task);
  ReadStatus(task);
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
  Task& task = Get(key);
  if (Status status = Spawn(task); !status.ok()) Refuse(key, status.message());
}

void ShimRuntime::Refuse(const TaskKey& key, const std::string& message) {
  Task& task = Get(key);
  task.status.start_failed = true;
  task.status.ended = true;
  task.status.message = message;
  // Written down so that a restart of the agent says the same; if that fails, so will every start here.
  (void)WriteFileAtomically(task.paths.status(), ToJson(task.status), Durability::kProcess);
  OnShimGone(task);
}

Status ShimRuntime::Spawn(Task& task) {
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
std::function<void(const boost::system::error_code&)> ShimRuntime::WithTask(const Task& task, Step step) {
  return [this, key = task.key, step](const boost::system::error_code& error) {
    const auto it = tasks_.find(key);
    if (!error && it != tasks_.end()) (this->*step)(*it->second);
  };
}

void ShimRuntime::AwaitSpawned(Task& task) {
  task.spawner.async_wait(asio::posix::stream_descriptor::wait_read, WithTask(task, &ShimRuntime::OnSpawned));
}

void ShimRuntime::OnSpawned(Task& task) {
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

void ShimRuntime::AttachShim(Task& task) {
  const Result<std::string> text = ReadFile(task.paths.identity(), kStatusBytesMax);
  Result<ProcessIdentity> identity = text.ok() ? ParseProcessIdentity(*text) : Result<ProcessIdentity>(text.status());
  if (identity.ok()) task.identity = *identity;
  UniqueFd fd = OpenProcess(task.identity, boot_id_);
  ReadStatus(task);
  if (!fd) {
    OnShimGone(task);
    return;
  }
  task.shim.assign(fd.Release());
  task.shim.async_wait(asio::posix::stream_descriptor::wait_read, WithTask(task, &ShimRuntime::OnShimGone));
  if (task.all_exited()) Look(task);
}

void ShimRuntime::OnShimGone(Task& task) {
  boost::system::error_code ignored;
  task.shim.close(ignored);
  ReadStatus(task);
  task.shim_gone = true;
  task.pause = kLookFirst;
  Look(task);
  Notify(task.key);
}

void ShimRuntime::WatchStatus(Task& task) {
  Result<FolderWatch::Id> watch = watch_.Add(task.paths.folder, [this, &task] {
    if (!ReadStatus(task)) return;
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

// True when it says something new.
bool ShimRuntime::ReadStatus(Task& task) {
  if (task.shim_gone) return false;
  const Result<std::string> text = ReadFile(task.paths.status(), kStatusBytesMax);
  if (!text.ok() || *text == task.status_text) return false;
  Result<TaskStatus> status = ParseTaskStatus(*text);
  if (!status.ok()) return false;
  task.status_text = *text;
  task.status = std::move(*status);
  AddCauses(task.spec, task.status, &task.causes);
  return true;
}

std::vector<ProcessInfo> ShimRuntime::Find(const Task& task) const {
  // After a reboot nothing of it can be there, and a pid would be somebody else's.
  if (!task.identity.boot_id.empty() && task.identity.boot_id != boot_id_) return {};
  const std::vector<ProcessInfo> all = ListProcesses();
  // The socket's path, not GLIM_TASK: two clusters on one machine have tasks of the same number.
  std::vector<ProcessInfo> found = Marked(all, "GLIM_SOCKET=" + task.paths.socket());
  std::set<pid_t> known;
  for (const ProcessInfo& process : found) known.insert(process.pid);
  if (task.shim.is_open()) {
    for (const ProcessInfo& process : Descendants(all, task.identity.pid)) {
      if (known.insert(process.pid).second) found.push_back(process);
    }
  }
  return found;
}

// Looks at what is left, once the ranks have ended or the shim is gone, and comes back while anything is.
void ShimRuntime::Look(Task& task) {
  if (task.released) return;
  const std::vector<pid_t> before = std::exchange(task.pids, {});
  for (const ProcessInfo& process : Find(task)) {
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

void ShimRuntime::LookLater(Task& task) {
  task.timer.expires_after(task.pause);
  task.pause = std::min(task.pause * 2, task.stopping || task.shim_gone ? kLookWaiting : kLookIdle);
  task.timer.async_wait(WithTask(task, &ShimRuntime::OnTimer));
}

void ShimRuntime::OnTimer(Task& task) {
  if (task.shim.is_open() || task.shim_gone) {
    if (ReadStatus(task)) Notify(task.key);
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

void ShimRuntime::SignalLeftovers(const Task& task, int signal) const {
  for (const ProcessInfo& process : Find(task)) SignalProcess(process, signal);
}

Status ShimRuntime::Signal(const TaskKey& key, int signal) {
  Task& task = Get(key);
  if (task.shim.is_open() && QueueSignal(task.shim.native_handle(), SignalRanksSignal(), signal)) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "the task's supervisor is gone");
}

void ShimRuntime::Terminate(const TaskKey& key) {
  Task& task = Get(key);
  task.stopping = true;
  if (!task.shim.is_open() || !QueueSignal(task.shim.native_handle(), TerminateSignal(), 0)) {
    SignalLeftovers(task, SIGTERM);
  }
}

void ShimRuntime::Kill(const TaskKey& key) {
  Task& task = Get(key);
  task.stopping = true;
  ++task.kills;
  bool told = false;
  if (task.shim.is_open()) {
    // A shim that somebody has stopped would not hear it.
    (void)::syscall(SYS_pidfd_send_signal, task.shim.native_handle(), SIGCONT, nullptr, 0);
    told = QueueSignal(task.shim.native_handle(), KillSignal(), 0);
  }
  if (!told || task.kills > kDirectKillAfter) SignalLeftovers(task, SIGKILL);
}

Inspection ShimRuntime::Inspect(const TaskKey& key) const {
  const Task& task = Get(key);
  Inspection result;
  result.phase = task.released                         ? Phase::kReleased
                 : task.shim_gone || task.all_exited() ? Phase::kExited
                 : task.status.started                 ? Phase::kRunning
                                                       : Phase::kStarting;
  result.controllable = task.shim.is_open() || task.shim_gone;
  result.start_failed = task.status.start_failed;
  result.fault = task.status.fault;
  result.ended = task.shim_gone;
  result.lost = task.lost();
  result.exit_code = task.status.exit_code;
  result.message = task.status.message;
  if (task.lost()) {
    result.message = task.identity.boot_id == boot_id_
                         ? "the task's supervisor was killed: how its ranks ended is not known"
                         : "the node was started anew while the task ran";
  }
  if (!task.released && task.gpu_busy) result.message = "its processes are gone, but GPU memory is still in use";
  result.first_output_ms = task.status.first_output_ms;
  result.ranks = task.status.ranks;
  result.causes = task.causes;
  result.pids = task.pids;
  return result;
}

std::vector<pid_t> ShimRuntime::Census(const TaskKey& key) const {
  std::vector<pid_t> pids;
  for (const ProcessInfo& process : Find(Get(key))) pids.push_back(process.pid);
  return pids;
}

void ShimRuntime::Cleanup(const TaskKey& key) {
  Task& task = Get(key);
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
