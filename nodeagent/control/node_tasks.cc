#include "nodeagent/control/node_tasks.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "nodeagent/confinement/process_confinement.h"
#include "nodeagent/confinement/runc_confinement.h"
#include "nodeagent/control/desired_bound.h"
#include "nodeagent/control/left_behind.h"
#include "nodeagent/launch/node_folders.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/os/unified_group.h"
#include "nodeagent/runtime/shim_runtime.h"
#include "nodeagent/saves/save_tree.h"
#include "nodeagent/task/log_files.h"
#include "nodeagent/task/sealed_file.h"
#include "sdk/io/io_error.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kLeftBehindMax = 200;

std::unique_ptr<Confinement> MakeConfinement(const AgentOptions& options) {
  if (!options.in_containers()) return MakeProcessConfinement(options.state_dir, options.saves_group_readable);
  const SeccompChoices calls{options.allow_io_uring, options.allow_vsock};
  return MakeRuncConfinement({options.runtime, options.runc, BesideShim(options, "glim-init"),
                              BesideShim(options, "glim-task"), options.state_dir, options.cgroup_parent,
                              options.node_name, options.mount_allow, options.sdk, calls,
                              options.user_namespace == "yes", options.reserve_memory_bytes,
                              options.saves_group_readable, DeviceChoiceOf(options)});
}

// Empty: the kernel keeps no account here of who is in a task.
std::string TaskGroups(const AgentOptions& options) {
  if (::geteuid() != 0) return "";
  const Result<std::string> parent = OpenGroupParent(options.cgroup_parent);
  if (parent.ok()) return *parent;
  LogWarning(
      "event=no_groups note=\"what belongs to a task is known by its environment and its parents alone\" error={}",
      Quoted(parent.status().message()));
  return "";
}

}  // namespace

NodeTasks::NodeTasks(boost::asio::io_context& io, const AgentOptions& options, FolderWatch& watch, GpuInventory& gpus,
                     const std::string& boot_id, Hooks hooks)
    : io_(io),
      options_(options),
      hooks_(std::move(hooks)),
      boot_id_(boot_id),
      groups_(TaskGroups(options)),
      store_(options.state_dir),
      runtime_(std::make_unique<ShimRuntime>(io, watch, gpus,
                                             ShimRuntime::Place{options.state_dir, options.shim, boot_id, groups_,
                                                                std::chrono::seconds(3 * options.path_seconds)},
                                             MakeConfinement(options),
                                             [this](const TaskKey& key) { OnRuntimeChange(key); })),
      wake_(io),
      disk_(io, options.state_dir,
            {[this] { hooks_.report_changed(Urgency::kNow); },
             [this] {
               if (unsaved_) Keep(*unsaved_, true);
             }}),
      receipts_(options.state_dir),
      starter_(io, options, *runtime_, tasks_,
               {hooks_.report_changed, [this] { StepSoon(); },
                [this](const TaskKey& key, const Status& status) { BlameDisk(key, status); }}),
      tmp_(io, options.tmp_bytes_max,
           {[this] { return TmpFolders(); },
            [this](const TaskKey& key, const std::string& reason) {
              if (!tasks_.contains(key)) return;
              LogWarning("event=tmp_too_large task={} reason={}", ToString(key), Quoted(reason));
              runtime_->Condemn(key, reason);
            }}),
      evidence_(io, BesideShim(options, "glim-paths"), [this] { hooks_.report_changed(Urgency::kNow); }) {}

NodeTasks::~NodeTasks() = default;

Status NodeTasks::Start() {
  DesiredStore::Kept kept = store_.Load();
  desired_ = FromProto(kept.set, BootNow(), false);
  launches_ = TakeLaunches(&kept.set);
  const std::set<TaskKey> cut_off = starter_.EndOldHooks(boot_id_);
  if (kept.boot_id == boot_id_) RemoveUnbegun(cut_off);
  if (Status status = AdoptTasks(); !status.ok()) return status;
  ReportLostStarts(kept.boot_id);
  if (kept.boot_id == boot_id_) again_ = launches_;
  // One that waited for its save is lost: the scheduler chooses the save anew. So is one with secrets, which the agent
  // before had in memory alone.
  std::erase_if(again_, [](const auto& order) { return !CanBeginAgain(order.second); });
  std::set<TaskKey> adopted;
  for (const auto& [key, task] : tasks_) adopted.insert(key);
  SweepSecrets(options_, adopted);
  starter_.Start();
  PruneOldLogs();
  disk_.Start();
  tmp_.Start();
  StepSoon();
  return Status::Ok();
}

void NodeTasks::Stop() {
  stopped_ = true;
  wake_.cancel();
  for (auto& [key, task] : tasks_) {
    if (task.socket) task.socket->Close();
  }
  starter_.Stop();
  disk_.Stop();
  tmp_.Stop();
  evidence_.Stop();
  runtime_->Stop();
}

void NodeTasks::Accept(v1::DesiredState set) {
  const Revision incoming{set.epoch(), set.revision()};
  const Revision accepted = desired_.revision;
  if (!Accepts(accepted, incoming)) {
    LogWarning("event=stale_set_ignored epoch={} revision={} accepted_epoch={} accepted_revision={}", incoming.epoch,
               incoming.revision, accepted.epoch, accepted.revision);
    return;
  }
  const int listed = set.tasks_size();
  if (!BoundTasks(&set, [this](const TaskKey& key) { return tasks_.contains(key); })) {
    LogError("event=desired_state_cut tasks={} taken={} note=\"stops are obeyed, nothing new is started\"", listed,
             set.tasks_size());
  }
  SecretsByTask secrets = TakeSecrets(&set);  // before anything of the set is written down
  LookAgain(&set);
  Desired desired = FromProto(set, BootNow(), true);
  receipts_.Take(set, [this](const TaskKey& key) { return tasks_.contains(key); });
  Keep(WithAwaited(set), NeedsDurability(desired));
  desired_ = std::move(desired);
  const Questions questions = QuestionsIn(set);
  launches_ = TakeLaunches(&set);
  secrets_ = std::move(secrets);
  Step();
  Answer(questions);
  hooks_.report_changed(Urgency::kNow);
}

// Told in the log once, however often the scheduler says the same or the disk is asked again.
void NodeTasks::Keep(const v1::DesiredState& set, bool durable) {
  const bool again = unsaved_ != nullptr;
  const Status status = store_.Save(set, boot_id_, durable, disk_.spare());
  disk_.Wrote(status);
  if (status.ok()) {
    unsaved_.reset();
  } else if (&set != unsaved_.get()) {
    unsaved_ = std::make_unique<v1::DesiredState>(set);
  }
  if (status.ok() && again) LogInfo("event=desired_state_saved");
  if (!status.ok() && !again) {
    LogError("event=desired_state_not_saved error={} note=\"stops are obeyed, nothing is started\"",
             Quoted(status.message()));
  }
}

// Whether acting on it starts or stops something that was not started or stopped before.
bool NodeTasks::NeedsDurability(const Desired& desired) const {
  return std::any_of(desired.tasks.begin(), desired.tasks.end(), [this](const DesiredTask& wanted) {
    const auto it = tasks_.find(wanted.key);
    return it == tasks_.end() ? wanted.launch : wanted.stop && !it->second.record.terminated;
  });
}

void NodeTasks::OnRuntimeChange(const TaskKey& key) {
  if (stopped_) return;
  const auto it = tasks_.find(key);
  if (it == tasks_.end()) return;
  if (it->second.in_runtime && runtime_->Inspect(key).ended) hooks_.task_ended(key.job, key.attempt);
  if (it->second.in_runtime && !it->second.start_judged) {
    const Inspection inspection = runtime_->Inspect(key);
    if (inspection.start_failed) BlameDisk(key, StartFailure(inspection.fault, inspection.message));
  }
  hooks_.report_changed(Urgency::kNow);
  StepSoon();
}

// Before anybody hears of a failed start: whether the disk is to blame, and not the job, nor the node for long.
void NodeTasks::BlameDisk(const TaskKey& key, const Status& failure) {
  AgentTask& task = tasks_.at(key);
  if (std::exchange(task.start_judged, true) || FaultOf(failure) != StartFault::kNode) return;
  task.disk_fault = disk_.Failed(failure);
}

void NodeTasks::StepSoon() {
  if (std::exchange(step_pending_, true)) return;
  boost::asio::post(io_, [this] {
    step_pending_ = false;
    if (!stopped_) Step();
  });
}

void NodeTasks::Step() {
  for (auto& [key, task] : tasks_) {
    if (InspectTask(*runtime_, key, task).phase != Phase::kReleased) continue;
    if (!std::exchange(task.secrets_removed, true)) RemoveSecrets(options_, key);
    if (task.in_runtime) starter_.RunEpilog(key);
  }
  for (const Action& action : Reconcile(desired_, Observe(), BootNow())) CarryOut(action);
  LogPhases();
  const TimePoint due = NextWake(Observe());
  if (!due) return;
  wake_.expires_after(std::chrono::milliseconds(std::max<std::int64_t>(1, (due - BootNow()).ms)));
  wake_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Step();
  });
}

// What the scheduler is told of each task, whenever that changes.
void NodeTasks::LogPhases() {
  for (auto& [key, task] : tasks_) {
    v1::ObservedTask told;
    ToProto(key, InspectTask(*runtime_, key, task), nullptr, {}, &told);
    const std::string words = v1::ObservedTask::Phase_Name(told.phase()) + (told.lost() ? " lost" : "") +
                              (told.start_failed() ? " start_failed" : "") + (told.pids_size() > 0 ? " pids" : "");
    if (std::exchange(task.logged, words) == words) continue;
    LogInfo("event=task_phase task={} phase={} exit_code={} message={}", ToString(key), Quoted(words), told.exit_code(),
            Quoted(told.message()));
  }
}

Observed NodeTasks::Observe() const {
  Observed observed;
  observed.accepted = desired_.revision;
  for (const auto& [key, task] : tasks_) {
    ObservedTask seen = task.seen;
    const Inspection inspection = InspectTask(*runtime_, key, task);
    seen.phase = inspection.phase;
    seen.controllable = inspection.controllable || starter_.IsUnpacking(key);
    seen.signalled_agreement = task.record.signalled_agreement;
    seen.terminated = task.record.terminated;
    seen.kill_at = task.record.kill_at;
    observed.tasks.push_back(std::move(seen));
  }
  return observed;
}

void NodeTasks::CarryOut(const Action& action) {
  if (action.kind == ActionKind::kLaunch) return Launch(action.key);
  if (action.kind == ActionKind::kReportLost) return ReportLost(action.key);
  AgentTask& task = tasks_[action.key];
  switch (action.kind) {
    case ActionKind::kUpdateInterrupt:
      task.seen.raised = action.interrupt;
      if (task.socket) task.socket->SetInterrupt(*action.interrupt);
      break;
    case ActionKind::kSendSignal: SendSignal(task, *action.interrupt); break;
    case ActionKind::kTerminate:
    case ActionKind::kKill: StopTask(task, action); break;
    case ActionKind::kForget: Forget(action.key); break;
    case ActionKind::kMarkOrphan:
      LogWarning("event=orphan task={} note=\"the scheduler does not list it; it is left alone\"",
                 ToString(action.key));
      task.seen.orphan = true;
      starter_.Cancel(action.key);  // what was not started is not started any more
      break;
    case ActionKind::kClearOrphan: task.seen.orphan = false; break;
    case ActionKind::kLaunch:
    case ActionKind::kReportLost: break;
  }
}

void NodeTasks::Launch(const TaskKey& key) {
  const auto order = launches_.find(key);
  GLIM_CHECK(order != launches_.end(), "a launch that nobody asked for: " + ToString(key));
  if (const std::string fault = disk_.Fault(); !fault.empty()) {
    starter_.RefuseLaunch(key, tasks_[key], fault);
  } else {
    AgentTask& task = tasks_[key];
    if (const auto it = secrets_.find(key); it != secrets_.end()) task.secrets = std::move(it->second);
    order->second.set_with_attempt_secret(!task.secrets.attempt_secret.empty());
    starter_.Launch(key, task, std::move(order->second));
  }
  launches_.erase(order);
  secrets_.erase(key);
}

void NodeTasks::ReportLost(const TaskKey& key) {
  LogWarning("event=task_unknown task={} note=\"reported lost\"", ToString(key));
  AgentTask& task = tasks_[key];
  task.seen.key = key;
  task.fixed.phase = Phase::kReleased;
  task.fixed.lost = true;
  task.fixed.message = "this node knows nothing of the task";
  hooks_.report_changed(Urgency::kNow);
}

void NodeTasks::SendSignal(AgentTask& task, const Interrupt& interrupt) {
  task.record.signalled_agreement = interrupt.agreement;
  const std::optional<int> signal = SignalNumber(interrupt.signal);
  // Noted first: a second signal would end a job that is already saving.
  Status status = SaveRecord(task);
  // But a job must not lose its work to a full disk: the agent would have to be restarted before there is room again.
  if (IsDiskFull(status)) status = Status::Ok();
  if (!signal) {
    status = InvalidArgument("interrupt.signal", interrupt.signal + " is no signal");
  } else if (status.ok()) {
    // Half of the grace for a launcher to hand it on, and half for the save of what it has not told.
    const std::int64_t late_ms = std::max<std::int64_t>(0, (interrupt.deadline - BootNow()).ms) / 2;
    status = runtime_->AskToLeave(task.seen.key, {*signal, interrupt.signal_all, late_ms});
  }
  LogInfo("event=interrupt_signal task={} agreement={} signal={} to={} error={}", ToString(task.seen.key),
          interrupt.agreement, interrupt.signal, interrupt.signal_all ? "all" : "main", Quoted(status.message()));
}

void NodeTasks::StopTask(AgentTask& task, const Action& action) {
  if (!task.in_runtime) return starter_.StopBeforeStart(task, action);
  if (!task.record.terminated) {
    LogInfo("event=stop task={} kill_in_ms={} reason={}", ToString(action.key), (action.kill_at - BootNow()).ms,
            Quoted(action.reason));
  }
  const bool news = !task.record.terminated || task.record.kill_at != action.kill_at;
  task.record.terminated = true;
  task.record.kill_at = action.kill_at;
  // The desired state, which is on the disk, asks for the same; without this file a restart only counts anew.
  if (news) (void)SaveRecord(task);
  if (news && runtime_->Inspect(action.key).phase == Phase::kExited) {
    task.left = NameProcesses(runtime_->ProcessesOf(action.key, kLeftBehindMax));
  }
  if (action.kind == ActionKind::kTerminate) return runtime_->Terminate(action.key);
  if (!task.seen.killed_at) LogInfo("event=kill task={}", ToString(action.key));
  task.seen.killed_at = BootNow();
  runtime_->Kill(action.key);
}

void NodeTasks::Forget(const TaskKey& key) {
  const auto it = tasks_.find(key);
  if (it->second.socket) it->second.socket->Close();
  if (it->second.in_runtime) runtime_->Cleanup(key);
  tasks_.erase(it);
  starter_.Forget(key);
  evidence_.Forget(key);
  LogInfo("event=task_forgotten task={}", ToString(key));
  hooks_.report_changed(Urgency::kNow);
  PruneOldLogs();
}

Status NodeTasks::SaveRecord(const AgentTask& task) const {
  Status status =
      WriteSealed(TaskPaths(runtime_->FolderOf(task.seen.key)).record(), ToJson(task.record), Durability::kProcess);
  if (!status.ok()) {
    LogError("event=record_not_written task={} error={}", ToString(task.seen.key), Quoted(status.message()));
  }
  return status;
}

bool NodeTasks::LogIsOpen(std::uint64_t job, std::uint32_t attempt) const {
  for (auto it = tasks_.lower_bound(TaskKey{job, attempt, 0}); it != tasks_.end(); ++it) {
    if (it->first.job != job || it->first.attempt != attempt) break;
    if (it->second.in_runtime && !runtime_->Inspect(it->first).ended) return true;
  }
  return false;
}

bool NodeTasks::HasTaskOf(std::uint64_t job) const {
  const auto it = tasks_.lower_bound(TaskKey{job, 0, 0});
  if (it != tasks_.end() && it->first.job == job) return true;
  return std::any_of(desired_.tasks.begin(), desired_.tasks.end(),
                     [job](const DesiredTask& task) { return task.key.job == job; });
}

TmpWatch::Folders NodeTasks::TmpFolders() const {
  TmpWatch::Folders folders;
  for (const auto& [key, task] : tasks_) {
    if (!task.in_runtime || !runtime_->SpecOf(key).container || runtime_->Inspect(key).phase != Phase::kRunning)
      continue;
    folders.emplace_back(key, TaskPaths(runtime_->FolderOf(key)).tmp());
  }
  return folders;
}

void NodeTasks::PruneOldLogs() {
  const auto known = [this](const std::string& name) {
    return std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& entry) {
      return name == std::to_string(entry.first.job) + "-" + std::to_string(entry.first.attempt);
    });
  };
  const int removed = PruneLogs(options_.state_dir + "/logs", options_.logs_bytes_max, options_.log_folders_max, known);
  if (removed > 0) LogInfo("event=logs_pruned attempts={}", removed);
}

}  // namespace glim::nodeagent
