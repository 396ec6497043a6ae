#include "nodeagent/control/task_starter.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "nodeagent/launch/gang_files.h"
#include "nodeagent/launch/launch_plan.h"
#include "nodeagent/launch/task_variables.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr int kStoppedCode = 128 + SIGTERM;  // of a task that a stop ended before it was started

void EndUnstarted(AgentTask& task, const std::string& message) {
  task.fixed.phase = Phase::kReleased;
  task.fixed.exit_code = kStoppedCode;
  task.fixed.message = message;
}

void FailStart(AgentTask& task, const std::string& message) {
  task.fixed.phase = Phase::kReleased;
  task.fixed.start_failed = true;
  task.fixed.message = message;
}

}  // namespace

TaskStarter::TaskStarter(boost::asio::io_context& io, const AgentOptions& options, Runtime& runtime, TaskTable& tasks,
                         Hooks hooks)
    : io_(io),
      options_(options),
      runtime_(runtime),
      tasks_(tasks),
      hooks_(std::move(hooks)),
      base_variables_(BaseVariables(options.address)),
      paths_(io, BesideShim(options, "glim-paths"), std::chrono::seconds(options.path_seconds),
             [this](const TaskKey& key, const PathOutcome& outcome) { OnPaths(key, outcome); }),
      saves_(
          io, options, [this] { hooks_.report_changed(Urgency::kProgress); },
          [this](const TaskKey& key, const SaveOutcome& outcome) { OnSaveReady(key, outcome); }),
      images_(
          io, options, [this] { hooks_.report_changed(Urgency::kProgress); },
          [this](const TaskKey& key, const ImageOutcome& outcome) { OnImage(key, outcome); }),
      unpacker_(io, BesideShim(options, "glim-unpack")),
      site_(io, options, [this] { hooks_.report_changed(Urgency::kNow); }) {}

void TaskStarter::Start() {
  saves_.Start();
  images_.Start();
  site_.Start();
}

void TaskStarter::Stop() {
  stopped_ = true;
  paths_.Stop();
  images_.Stop();
  saves_.Stop();
  unpacker_.Stop();
  site_.Stop();
}

void TaskStarter::Launch(const TaskKey& key, AgentTask& task, v1::TaskLaunch order) {
  task.seen.key = key;
  task.launch = std::move(order);
  task.fixed.phase = Phase::kStarting;
  task.fixed.controllable = true;  // it can be stopped: StopBeforeStart
  // What cannot be carried out is refused before anything is looked at or copied for it.
  const Result<LaunchSpec> spec = PlanLaunch(options_, base_variables_, key, runtime_.FolderOf(key), task.launch);
  if (!spec.ok()) return StartTask(key, task);
  task.user = spec->user;
  PathOrder paths = runtime_.PathsOf(*spec);
  if (task.user && task.launch.has_task_user()) {
    paths.account = AccountWish{{task.launch.user(), task.user->uid, task.user->gid}, options_.node_name};
  }
  if (paths.wishes.empty() && !paths.account) return StartWithImage(key, task);
  paths_.Begin(key, std::move(paths));
}

void TaskStarter::OnPaths(const TaskKey& key, const PathOutcome& outcome) {
  const auto it = tasks_.find(key);
  if (stopped_ || it == tasks_.end()) return;
  AgentTask& task = it->second;
  if (outcome.stopped) {
    EndUnstarted(task, "it was stopped before it was started; it never ran");
  } else if (!outcome.status.ok()) {
    FailStart(task, WithFix(outcome.status));
    task.fixed.hung_path = outcome.hung_path;
  } else {
    task.found = outcome.answers;
    StartWithImage(key, task);
  }
  hooks_.report_changed(Urgency::kNow);
  hooks_.step();
}

void TaskStarter::StartWithImage(const TaskKey& key, AgentTask& task) {
  const std::string& image = task.launch.image();
  if (!NamesImage(task.launch) || !task.user) return StartWithSave(key, task);
  const auto found = task.found.find("image");
  const bool looked = found != task.found.end();
  if (looked && found->second.real.empty()) {
    const Status status =
        found->second.error == EACCES ? PathDenied("image", image, task.user->uid) : PathMissing("image", image);
    task.fixed.fault = FaultOf(status);
    FailStart(task, WithFix(status));
    return hooks_.failed(key, status);
  }
  task.waits_to_start = true;
  images_.Begin(key, *task.user, image, looked ? found->second.real : "");
}

void TaskStarter::OnImage(const TaskKey& key, const ImageOutcome& outcome) {
  const auto it = tasks_.find(key);
  if (stopped_ || it == tasks_.end()) return;
  AgentTask& task = it->second;
  task.waits_to_start = false;
  if (outcome.stopped) {
    EndUnstarted(task, "it was stopped before its image was there; it never ran");
  } else if (!outcome.answer.message.empty()) {
    task.fixed.fault = outcome.answer.fault;
    FailStart(task, outcome.answer.message);
  } else {
    task.image = outcome.answer;
    StartWithSave(key, task);
  }
  hooks_.report_changed(Urgency::kNow);
  hooks_.step();
}

void TaskStarter::StartWithSave(const TaskKey& key, AgentTask& task) {
  task.waits_to_start = saves_.Begin(key, task.user, task.launch);
  if (!task.waits_to_start) StartTask(key, task);
}

void TaskStarter::RefuseLaunch(const TaskKey& key, AgentTask& task, const std::string& fault) {
  LogError("event=launch_refused task={} error={}", ToString(key), Quoted(fault));
  task.seen.key = key;
  FailStart(task, fault);
  task.disk_fault = true;
  hooks_.report_changed(Urgency::kNow);
}

void TaskStarter::OnSaveReady(const TaskKey& key, const SaveOutcome& outcome) {
  const auto it = tasks_.find(key);
  if (stopped_ || it == tasks_.end()) return;
  AgentTask& task = it->second;
  task.waits_to_start = false;
  task.fixed = {};
  if (outcome.stopped) {
    EndUnstarted(task, "it was stopped before its save was there; it never ran");
  } else if (outcome.missing) {
    task.save_missing = true;
    FailStart(task, outcome.message);
  } else {
    StartTask(key, task);
  }
  hooks_.report_changed(Urgency::kNow);
  hooks_.step();
}

void TaskStarter::StartTask(const TaskKey& key, AgentTask& task) {
  Result<LaunchSpec> spec = PlanLaunch(options_, base_variables_, key, runtime_.FolderOf(key), task.launch,
                                       task.image ? &*task.image : nullptr);
  Status status = spec.ok() ? CheckSecrets(options_, task.launch, task.secrets) : spec.status();
  if (status.ok()) status = runtime_.Create(key, *spec, task.found);
  if (!status.ok()) {
    LogError("event=launch_failed task={} error={}", ToString(key), Quoted(status.message()));
    task.fixed.fault = FaultOf(status);
    FailStart(task, WithFix(status));
    return hooks_.failed(key, status);
  }
  task.in_runtime = true;
  Status ready = WriteSecrets(options_, key, task.user, task.launch, task.secrets);
  task.secrets = {};
  const TaskPaths paths(runtime_.FolderOf(key));
  if (ready.ok()) ready = WriteGangFiles(task.user, task.launch, paths);
  if (ready.ok()) ready = WriteTurnFiles(task.user, task.launch, paths);
  if (ready.ok()) ready = OpenSocket(task);
  // Raised while the task waited for its save.
  if (ready.ok() && task.seen.raised) task.socket->SetInterrupt(*task.seen.raised);
  if (!ready.ok()) {
    runtime_.Refuse(key, ready.message());
  } else {
    Begin(key, task.launch.snapshot());
  }
  LogInfo("event=task_launched task={} job={} ranks={}", ToString(key), Quoted(spec->job_name), spec->ranks.size());
}

// At once, or when its prolog has ended.
void TaskStarter::Begin(const TaskKey& key, const std::string& snapshot) {
  const AgentTask& task = tasks_.at(key);
  site_.RunProlog(key, task.launch, runtime_.FolderOf(key), [this, key, snapshot](const Status& ready) {
    if (stopped_) return;
    if (tasks_.at(key).record.terminated) {
      runtime_.Refuse(key, "it was stopped while its prolog ran");
    } else if (!ready.ok()) {
      runtime_.Refuse(key, ready.message());
    } else {
      BeginCode(key, snapshot);
    }
  });
}

// At once, or when its code is unpacked.
void TaskStarter::BeginCode(const TaskKey& key, const std::string& snapshot) {
  if (snapshot.empty()) return runtime_.Start(key);
  const Status status = unpacker_.Start(key, snapshot, TaskPaths(runtime_.FolderOf(key)), runtime_.SpecOf(key).user,
                                        EntryGroupOf(runtime_.SpecOf(key)),
                                        [this, key](const Status& unpacked) { OnUnpacked(key, unpacked); });
  if (!status.ok()) runtime_.Refuse(key, status.message());
}

void TaskStarter::OnUnpacked(const TaskKey& key, const Status& unpacked) {
  if (stopped_) return;
  if (tasks_.at(key).record.terminated) {
    runtime_.Refuse(key, "it was stopped while its code was unpacked");
  } else if (!unpacked.ok()) {
    LogError("event=unpack_failed task={} error={}", ToString(key), Quoted(unpacked.message()));
    runtime_.Refuse(key, unpacked.message());
  } else {
    runtime_.Start(key);
  }
}

Status TaskStarter::OpenSocket(AgentTask& task) {
  const TaskPaths paths(runtime_.FolderOf(task.seen.key));
  TaskSocket::Options options;
  options.socket_path = paths.socket();
  options.state_path = paths.ranks();
  options.task = ToString(task.seen.key);
  for (const RankLaunch& rank : runtime_.SpecOf(task.seen.key).ranks) options.ranks.push_back(rank.rank);
  options.peer_uid = UidOf(runtime_.SpecOf(task.seen.key), paths);
  options.now = BootNow;
  options.version = GLIM_VERSION;
  options.on_news = [this](RankNews news) {
    if (!stopped_) hooks_.report_changed(news == RankNews::kProgress ? Urgency::kProgress : Urgency::kNow);
  };
  auto socket = std::make_shared<TaskSocket>(io_, std::move(options));
  Status status = socket->Open();
  task.socket = std::move(socket);
  return status;
}

void TaskStarter::StopBeforeStart(AgentTask& task, const Action& action) {
  if (!task.record.terminated) {
    LogInfo("event=stop task={} note=\"it was not started yet\" reason={}", ToString(action.key),
            Quoted(action.reason));
  }
  task.record.terminated = true;
  task.record.kill_at = action.kill_at;
  if (action.kind == ActionKind::kKill) task.seen.killed_at = BootNow();
  Cancel(action.key);
}

void TaskStarter::Cancel(const TaskKey& key) {
  paths_.Cancel(key);
  images_.Cancel(key);
  saves_.Cancel(key);
}

}  // namespace glim::nodeagent
