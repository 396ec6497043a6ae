#include "nodeagent/control/node_tasks.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "nodeagent/confinement/process_confinement.h"
#include "nodeagent/confinement/runc_confinement.h"
#include "nodeagent/launch/node_folders.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/runtime/shim_runtime.h"
#include "nodeagent/saves/save_tree.h"
#include "nodeagent/task/log_files.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr int kTasksMax = 256;
constexpr std::size_t kRecordBytesMax = 64 * 1024;

std::unique_ptr<Confinement> MakeConfinement(const AgentOptions& options) {
  if (options.runtime != "runc") return MakeProcessConfinement();
  return MakeRuncConfinement({options.runc, BesideShim(options, "glim-init"), BesideShim(options, "glim-task"),
                              options.state_dir, options.cgroup_parent, options.node_name, options.mount_allow,
                              options.task_user, options.sdk});
}

}  // namespace

NodeTasks::NodeTasks(boost::asio::io_context& io, const AgentOptions& options, FolderWatch& watch, GpuInventory& gpus,
                     const std::string& boot_id, Hooks hooks)
    : io_(io),
      options_(options),
      hooks_(std::move(hooks)),
      store_(options.state_dir),
      runtime_(std::make_unique<ShimRuntime>(io, watch, gpus, options.state_dir, options.shim, boot_id,
                                             MakeConfinement(options),
                                             [this](const TaskKey& key) { OnRuntimeChange(key); })),
      wake_(io),
      starter_(io, options, *runtime_, tasks_, {hooks_.report_changed, [this] { StepSoon(); }}) {}

NodeTasks::~NodeTasks() = default;

Status NodeTasks::Start() {
  Result<v1::DesiredState> wanted = store_.Load();
  if (!wanted.ok()) return wanted.status();
  desired_ = FromProto(*wanted, BootNow(), false);
  launches_ = TakeLaunches(&*wanted);
  if (Status status = AdoptTasks(); !status.ok()) return status;
  starter_.Start();
  PruneOldLogs();
  StepSoon();
  return Status::Ok();
}

Status NodeTasks::AdoptTasks() {
  Result<std::vector<TaskKey>> keys = runtime_->Adopt();
  if (!keys.ok()) return keys.status();
  for (const TaskKey& key : *keys) {
    AgentTask& task = tasks_[key];
    task.seen.key = key;
    task.in_runtime = true;
    const Result<std::string> text = ReadFile(TaskPaths(runtime_->FolderOf(key)).record(), kRecordBytesMax);
    if (text.ok()) {
      const Result<TaskRecord> record = ParseTaskRecord(*text);
      if (!record.ok()) return record.status();
      task.record = *record;
    }
    // Its ranks cannot be heard without a socket, but they run on, and stopping them works.
    if (Status status = starter_.OpenSocket(task); !status.ok()) {
      LogError("event=task_socket_failed task={} error={}", ToString(key), Quoted(status.message()));
    }
    LogInfo("event=task_adopted task={}", ToString(key));
  }
  return Status::Ok();
}

void NodeTasks::Stop() {
  stopped_ = true;
  wake_.cancel();
  for (auto& [key, task] : tasks_) {
    if (task.socket) task.socket->Close();
  }
  starter_.Stop();
  runtime_->Stop();
}

Status NodeTasks::Accept(v1::DesiredState set) {
  const Revision incoming{set.epoch(), set.revision()};
  const Revision accepted = desired_.revision;
  if (!Accepts(accepted, incoming)) {
    LogWarning("event=stale_set_ignored epoch={} revision={} accepted_epoch={} accepted_revision={}", incoming.epoch,
               incoming.revision, accepted.epoch, accepted.revision);
    return Status::Ok();
  }
  if (set.tasks_size() > kTasksMax) {
    LogError("event=desired_state_refused tasks={} error=\"a node has at most {} tasks\"", set.tasks_size(), kTasksMax);
    return Status::Ok();
  }
  Desired desired = FromProto(set, BootNow(), true);
  if (Status status = store_.Save(set, NeedsDurability(desired)); !status.ok()) {
    LogError("event=desired_state_not_saved error={}", Quoted(status.message()));
    return status;
  }
  desired_ = std::move(desired);
  launches_ = TakeLaunches(&set);
  Step();
  hooks_.report_changed(Urgency::kNow);
  return Status::Ok();
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
  hooks_.report_changed(Urgency::kNow);
  StepSoon();
}

void NodeTasks::StepSoon() {
  if (std::exchange(step_pending_, true)) return;
  boost::asio::post(io_, [this] {
    step_pending_ = false;
    if (!stopped_) Step();
  });
}

void NodeTasks::Step() {
  for (const Action& action : Reconcile(desired_, Observe(), BootNow())) CarryOut(action);
  const TimePoint due = NextWake(Observe());
  if (!due) return;
  wake_.expires_after(std::chrono::milliseconds(std::max<std::int64_t>(1, (due - BootNow()).ms)));
  wake_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Step();
  });
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
  starter_.Launch(key, tasks_[key], std::move(order->second));
  launches_.erase(order);
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
  if (!signal) {
    status = InvalidArgument("interrupt.signal", interrupt.signal + " is no signal");
  } else if (status.ok()) {
    status = runtime_->Signal(task.seen.key, *signal);
  }
  LogInfo("event=interrupt_signal task={} agreement={} signal={} error={}", ToString(task.seen.key),
          interrupt.agreement, interrupt.signal, Quoted(status.message()));
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
  LogInfo("event=task_forgotten task={}", ToString(key));
  hooks_.report_changed(Urgency::kNow);
  PruneOldLogs();
}

Status NodeTasks::SaveRecord(const AgentTask& task) const {
  Status status = WriteFileAtomically(TaskPaths(runtime_->FolderOf(task.seen.key)).record(), ToJson(task.record),
                                      Durability::kProcess);
  if (!status.ok()) {
    LogError("event=record_not_written task={} error={}", ToString(task.seen.key), Quoted(status.message()));
  }
  return status;
}

void NodeTasks::Report(v1::NodeReport* report) const {
  report->set_epoch(desired_.revision.epoch);
  report->set_revision(desired_.revision.revision);
  for (const auto& [key, task] : tasks_) {
    const TaskSocket* socket = task.socket.get();
    v1::ObservedTask* out = report->add_tasks();
    ToProto(
        key, InspectTask(*runtime_, key, task), socket ? &socket->ranks() : nullptr,
        [&](std::uint32_t rank) { return socket && socket->connected(rank); }, out);
    starter_.Report(key, out);
    out->set_save_missing(task.save_missing);
    const std::string own = OwnCheckpointFolder(options_.state_dir, key.job);
    if (task.in_runtime && runtime_->SpecOf(key).checkpoint_folder == own) SetLocalPaths(own, out);
  }
}

bool NodeTasks::LogIsOpen(std::uint64_t job, std::uint32_t attempt) const {
  for (auto it = tasks_.lower_bound(TaskKey{job, attempt, 0}); it != tasks_.end(); ++it) {
    if (it->first.job != job || it->first.attempt != attempt) break;
    if (it->second.in_runtime && !runtime_->Inspect(it->first).ended) return true;
  }
  return false;
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
