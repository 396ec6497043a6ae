#include "nodeagent/runtime/shim_runtime.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "nodeagent/os/unified_group.h"
#include "nodeagent/runtime/spawn_shim.h"
#include "nodeagent/task/sealed_file.h"
#include "nodeagent/task/shim_control.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;
constexpr std::size_t kPidsReportedMax = 32;
constexpr int kDirectKillAfter = 10;
constexpr int kKillsWithoutEvidence = 2;  // whoever dies of a SIGKILL is gone by then
constexpr int kEmptyLooksWhenLost = 2;
constexpr std::chrono::milliseconds kLookWaiting{50};   // the longest pause while a release is waited for
constexpr std::chrono::milliseconds kLookIdle{1000};    // and while nothing but evidence is
constexpr std::chrono::milliseconds kFlushAfter{2000};  // by then most ends have been heard, and their folders removed

}  // namespace

ShimRuntime::ShimRuntime(asio::io_context& io, FolderWatch& watch, GpuInventory& gpus, Place place,
                         std::unique_ptr<Confinement> confinement, OnChange on_change)
    : io_(io),
      watch_(watch),
      gpus_(gpus),
      place_(std::move(place)),
      tasks_dir_(place_.state_dir + "/tasks"),
      confinement_(std::move(confinement)),
      on_change_(std::move(on_change)),
      flusher_(kFlushAfter) {}

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

Status ShimRuntime::Create(const TaskKey& key, const LaunchSpec& spec, const PathAnswers& found) {
  GLIM_CHECK(!tasks_.contains(key), "created twice: " + ToString(key));
  LaunchSpec confined = spec;
  if (Status status = Prepare(key, found, &confined); !status.ok()) {
    gpus_.TaskEnded(ToString(key));
    (void)RemoveFolder(FolderOf(key));
    if (!confined.group.empty()) (void)RemoveGroup(confined.group);
    return status;
  }
  ShimTask& task = *tasks_.emplace(key, NewTask(key, std::move(confined))).first->second;
  task.ReadGpusBefore();
  WatchFiles(task);
  return Status::Ok();
}

Status ShimRuntime::Prepare(const TaskKey& key, const PathAnswers& found, LaunchSpec* spec) {
  const TaskPaths paths(FolderOf(key));
  Status status = MakeFolder(paths.folder);
  if (status.ok()) status = MakeFolder(paths.run());
  if (status.ok()) status = MakeFolders(spec->log_folder);
  if (status.ok() && !spec->code_folder.empty()) status = MakeFolder(spec->code_folder);
  if (status.ok()) status = confinement_->Prepare(paths, found, spec);
  if (status.ok() && !place_.groups.empty()) {
    spec->group = place_.groups + "/" + ToString(key);
    if (LookAtGroup(spec->group) == GroupState::kPopulated) {
      return Status(StatusCode::kFailedPrecondition,
                    "processes run in the task's group " + spec->group + " before it is started");
    }
    status = MakeGroup(spec->group);
    if (status.ok() && spec->container) status = MakeGroup(StartGroupOf(spec->group));
  }
  if (status.ok() && spec->gpus > 0) {
    const std::string before = gpus_.TaskBegins(ToString(key));
    if (!before.empty()) status = WriteSealed(paths.gpus(), before, Durability::kProcess);
  }
  // Not synced: after a power cut the task is lost whatever stands here, and a start does not wait for the disk twice.
  return status.ok() ? WriteSealed(paths.launch(), ToJson(*spec), Durability::kProcess) : status;
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
  (void)WriteSealed(task.paths.status(), ToJson(task.status), Durability::kProcess);
  OnShimGone(task);
}

Status ShimRuntime::Spawn(ShimTask& task) {
  Result<UniqueFd> lock = LockShimFile(task.paths.lock());
  if (!lock.ok()) return lock.status();
  Result<pid_t> pid = SpawnShim(place_.shim, task.paths, lock->get());
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
  const Result<std::string> text = ReadSealed(task.paths.identity(), kStatusBytesMax);
  Result<ProcessIdentity> identity = text.ok() ? ParseProcessIdentity(*text) : Result<ProcessIdentity>(text.status());
  if (identity.ok()) task.identity = *identity;
  UniqueFd fd = OpenProcess(task.identity, place_.boot_id);
  task.ReadStatus();
  if (!fd) {
    OnShimGone(task);
    return;
  }
  task.shim.assign(fd.Release());
  WaitForShim(task);
  if (task.all_exited()) Look(task);
  AwaitStart(task);
}

void ShimRuntime::AwaitStart(ShimTask& task) {
  if (task.status.started || task.status.start_failed) return;
  task.start_limit.expires_after(place_.start_limit);
  task.start_limit.async_wait(WithTask(task, &ShimRuntime::OnLate));
}

// Storage began to hang after it was looked at: nobody's fault. What hangs in the kernel dies when the storage answers.
void ShimRuntime::OnLate(ShimTask& task) {
  (void)task.ReadStatus();
  if (task.shim_gone || task.status.started || task.status.start_failed) return;
  std::string paths = "workdir " + task.spec.workdir;
  for (const Mount& mount : task.spec.mounts) paths += ", mount " + mount.source;
  task.late = "the task's supervisor could not start it within " + std::to_string(place_.start_limit.count()) +
              " s: one of the paths that it names does not answer on this node (" + paths + ")";
  task.stopping = true;
  if (task.shim.is_open()) {
    (void)::syscall(SYS_pidfd_send_signal, task.shim.native_handle(), SIGKILL, nullptr, 0);
  }
  task.SignalLeftovers(place_.boot_id, census_, SIGKILL);
  Look(task);
  Notify(task.key);
}

void ShimRuntime::WaitForShim(ShimTask& task) {
  task.shim.async_wait(asio::posix::stream_descriptor::wait_read, WithTask(task, &ShimRuntime::OnShimEvent));
}

void ShimRuntime::OnShimEvent(ShimTask& task) {
  if (!IsOver(task.shim.native_handle())) return WaitForShim(task);
  OnShimGone(task);
}

void ShimRuntime::OnShimGone(ShimTask& task) {
  boost::system::error_code ignored;
  task.start_limit.cancel();
  task.shim.close(ignored);
  task.ReadStatus();
  task.shim_gone = true;
  // The scheduler that hears of the end writes it down. For one that is away it is kept over a power cut, too.
  flusher_.Push(task.paths.status());
  task.last_look = census_.looks();  // an earlier look may have been before its death
  task.pause = kLookFirst;
  Look(task);
  Notify(task.key);
}

void ShimRuntime::WatchFiles(ShimTask& task) {
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
  if (!task.spec.group.empty()) WatchGroup(task);
}

// The kernel tells of a change of cgroup.events as it tells of any file's: when the last process has gone, too.
void ShimRuntime::WatchGroup(ShimTask& task) {
  Result<FolderWatch::Id> watch = watch_.Add(task.spec.group, [this, &task] {
    if (task.shim_gone) Look(task);
  });
  if (watch.ok()) task.group_watch = *watch;
}

// Looks at what is left, once the ranks have ended or the shim is gone, and comes back while anything is.
void ShimRuntime::Look(ShimTask& task) {
  if (task.released) return;
  const std::vector<pid_t> before = task.pids;
  const std::string evidence = task.gpus_left.evidence;
  const bool populated = task.IsPopulated(place_.boot_id, census_, kPidsReportedMax, &task.pids);
  if (task.shim_gone && !populated) {
    // Without a group nobody vouches for a task whose shim was killed: a process that forks slips through one look.
    const bool seen_again = !task.spec.group.empty() || task.IsOfAnotherBoot(place_.boot_id) || !task.lost() ||
                            (std::exchange(task.last_look, census_.looks()) != census_.looks() &&
                             ++task.empty_looks >= kEmptyLooksWhenLost);
    task.gpu_busy = !HasFreeGpus(task);
    task.released = seen_again && !task.gpu_busy;
    if (task.released && task.spec.gpus > 0) gpus_.TaskEnded(ToString(task.key));
  } else {
    task.empty_looks = 0;
  }
  if (task.pids != before || task.gpus_left.evidence != evidence || task.released) Notify(task.key);
  if (!task.released) LookLater(task);
}

// Of a task whose processes are gone: whether that is known. What is asked is asked after their end.
bool ShimRuntime::HasFreeGpus(ShimTask& task) {
  const auto now = std::chrono::steady_clock::now();
  if (task.spec.gpus == 0) return true;
  if (task.gpu_question == 0) {
    if (now < task.gpus_again) return false;
    task.gpu_question = gpus_.Ask();
  }
  const GpuAnswer left = gpus_.Left(task.gpu_question, task.gpus_before);
  if (!left) return false;
  task.gpus_left = *left;
  if (left->empty()) return true;
  task.gpu_question = 0;
  task.gpus_again = now + task.gpus_pause;
  task.gpus_pause = std::min(task.gpus_pause * 2, kGpusMost);
  return false;
}

void ShimRuntime::LookLater(ShimTask& task) {
  // A group tells by itself that it is empty; the clock is for what it tells not, and brings the evidence up to date.
  const bool is_told = task.group_watch != 0 && !task.gpu_busy;
  const bool waits = (task.stopping || task.shim_gone) && !is_told;
  task.timer.expires_after(task.pause);
  task.pause = std::min(task.pause * 2, waits ? kLookWaiting : kLookIdle);
  task.timer.async_wait(WithTask(task, &ShimRuntime::OnTimer));
}

void ShimRuntime::OnTimer(ShimTask& task) {
  if (!task.broken.empty() && !task.shim.is_open() && !task.shim_gone) {
    Meet(task);
  } else if (task.shim.is_open() || task.shim_gone) {
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
  } else if (ShimFileIsLocked(task.paths.lock())) {
    LookLater(task);
  } else if (task.status.ended || task.status.started) {
    OnShimGone(task);  // it told how it went, and what it had written of itself was of no use
  } else {
    Refuse(task.key, "glim-shim ended before it could start the task");
  }
}

Status ShimRuntime::AskToLeave(const TaskKey& key, const SignalOrder& order) {
  ShimTask& task = Get(key);
  const int value = ToValue(order);
  if (task.shim.is_open() && QueueSignal(task.shim.native_handle(), SignalRanksSignal(), value)) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "the task's supervisor is gone");
}

void ShimRuntime::Terminate(const TaskKey& key) {
  ShimTask& task = Get(key);
  task.stopping = true;
  if (!task.shim.is_open() || !QueueSignal(task.shim.native_handle(), TerminateSignal(), 0)) {
    task.SignalLeftovers(place_.boot_id, census_, SIGTERM);
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
  // All of a group in one step; the shim looks for what a task of root's has moved out of it. One that is just starting
  // its ranks is left to end the task in its own words.
  const bool at_once = !task.spec.group.empty() && task.status.started;
  if (at_once || !told || task.kills > kDirectKillAfter) task.SignalLeftovers(place_.boot_id, census_, SIGKILL);
  if (task.kills > kKillsWithoutEvidence) SeeWhoStays(task);
}

// A rank that hangs in the kernel has not exited, and its shim waits: nobody else would look at who is left.
void ShimRuntime::SeeWhoStays(ShimTask& task) {
  if (task.shim_gone || task.all_exited()) return;  // Look does
  const std::vector<pid_t> before = task.pids;
  (void)task.IsPopulated(place_.boot_id, census_, kPidsReportedMax, &task.pids);
  std::erase(task.pids, task.identity.pid);
  if (task.pids != before) Notify(task.key);
}

void ShimRuntime::Condemn(const TaskKey& key, const std::string& reason) {
  ShimTask& task = Get(key);
  if (!task.condemned.empty()) return;
  task.condemned = reason;
  Kill(key);
}

Inspection ShimRuntime::Inspect(const TaskKey& key) const { return Get(key).Inspect(place_.boot_id); }

std::vector<pid_t> ShimRuntime::ProcessesOf(const TaskKey& key, std::size_t max) {
  const ShimTask& task = Get(key);
  std::vector<pid_t> pids;
  (void)task.IsPopulated(place_.boot_id, census_, max, &pids);
  std::erase(pids, task.identity.pid);
  return pids;
}

void ShimRuntime::Cleanup(const TaskKey& key) {
  ShimTask& task = Get(key);
  GLIM_CHECK(task.released, "cleanup of a task that is still there: " + ToString(key));
  watch_.Remove(task.watch);
  watch_.Remove(task.group_watch);
  confinement_->Sweep(task.spec);
  if (!task.spec.group.empty()) (void)RemoveGroup(task.spec.group);
  // Renamed first: a half-removed folder must not look like a task to the next agent.
  const std::string trash = tasks_dir_ + "/" + kRemovedPrefix + ToString(key);
  if (::rename(task.paths.folder.c_str(), trash.c_str()) == 0) RemoveTree(trash);
  tasks_.erase(key);
}

void ShimRuntime::Stop() {
  boost::system::error_code ignored;
  for (auto& [key, task] : tasks_) {
    task->shim.close(ignored);
    task->spawner.close(ignored);
    task->timer.cancel();
    task->start_limit.cancel();
    watch_.Remove(task->watch);
    watch_.Remove(task->group_watch);
  }
}

}  // namespace glim::nodeagent
