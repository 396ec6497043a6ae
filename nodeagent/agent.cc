#include "nodeagent/agent.h"

#include <time.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>

#include "nodeagent/agent_task.h"
#include "nodeagent/launch/launch_plan.h"
#include "nodeagent/runtime/shim_runtime.h"
#include "nodeagent/sync/wire.h"
#include "nodeagent/task/log_files.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

constexpr std::uint32_t kProtocolVersion = 1;
constexpr const char* kVersion = GLIM_VERSION;
constexpr int kTasksMax = 256;
constexpr std::size_t kRecordBytesMax = 64 * 1024;

// The programs of a node lie in one folder.
std::string BesideShim(const AgentOptions& options, const char* program) {
  return options.shim.substr(0, options.shim.rfind('/')) + "/" + program;
}

std::unique_ptr<SnapshotUnpacker> MakeUnpacker(boost::asio::io_context& io, const AgentOptions& options) {
  const auto user = options.runtime == "runc" ? std::optional(options.task_user) : std::nullopt;
  return std::make_unique<SnapshotUnpacker>(io, BesideShim(options, "glim-unpack"), user);
}

std::unique_ptr<Confinement> MakeConfinement(const AgentOptions& options) {
  if (options.runtime != "runc") return MakeProcessConfinement();
  return MakeRuncConfinement({options.runc, BesideShim(options, "glim-init"), BesideShim(options, "glim-task"),
                              options.state_dir, options.cgroup_parent, options.node_name, options.mount_allow,
                              options.task_user, options.sdk});
}

}  // namespace

TimePoint BootNow() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return TimePoint{now.tv_sec * 1000 + now.tv_nsec / 1'000'000 + 1};  // never 0, which means "not yet"
}

Agent::Agent(boost::asio::io_context& io, AgentOptions options, std::unique_ptr<GpuInventory> gpus,
             v1::AgentApi::StubInterface* stub, std::uint64_t seed)
    : io_(io),
      options_(std::move(options)),
      base_environment_(BaseEnvironment(options_.address)),
      gpus_(std::move(gpus)),
      stub_(stub),
      seed_(seed),
      watch_(io),
      store_(options_.state_dir),
      wake_(io),
      saves_(
          io, options_, [this] { sync_->Changed(Urgency::kProgress); },
          [this](const TaskKey& key, const SaveOutcome& outcome) { OnSaveReady(key, outcome); }),
      root_(io, {}, options_.runtime == "runc" ? options_.mount_allow : std::vector<std::string>(),
            [this] { sync_->Changed(Urgency::kNow); }) {}

Agent::~Agent() = default;

Status Agent::Start() {
  Result<std::string> boot_id = ReadBootId();
  if (!boot_id.ok()) return boot_id.status();
  boot_id_ = *boot_id;
  Result<v1::DesiredState> wanted = store_.Load();
  if (!wanted.ok()) return wanted.status();
  wanted_ = std::move(*wanted);
  desired_ = FromProto(wanted_, BootNow(), false);
  if (Status status = watch_.Start(); !status.ok()) return status;
  runtime_ =
      std::make_unique<ShimRuntime>(io_, watch_, *gpus_, options_.state_dir, options_.shim, boot_id_,
                                    MakeConfinement(options_), [this](const TaskKey& key) { OnRuntimeChange(key); });
  unpacker_ = MakeUnpacker(io_, options_);
  if (Status status = AdoptTasks(); !status.ok()) return status;
  if (Status status = saves_.Start(); !status.ok()) return status;
  PruneOldLogs();
  MakeStreams();
  StepSoon();
  return StartReplica();
}

Status Agent::AdoptTasks() {
  Result<std::vector<TaskKey>> keys = runtime_->Adopt();
  if (!keys.ok()) return keys.status();
  for (const TaskKey& key : *keys) {
    Task& task = tasks_[key];
    task.seen.key = key;
    task.in_runtime = true;
    const Result<std::string> text = ReadFile(TaskPaths(runtime_->FolderOf(key)).record(), kRecordBytesMax);
    if (text.ok()) {
      const Result<TaskRecord> record = ParseTaskRecord(*text);
      if (!record.ok()) return record.status();
      task.record = *record;
    }
    // Its ranks cannot be heard without a socket, but they run on, and stopping them works.
    if (Status status = OpenSocket(task); !status.ok()) {
      LogError("event=task_socket_failed task={} error={}", ToString(key), Quoted(status.message()));
    }
    LogInfo("event=task_adopted task={}", ToString(key));
  }
  return Status::Ok();
}

void Agent::MakeStreams() {
  SyncSession::Hooks sync;
  sync.hello = [this] { return MakeHello(); };
  sync.report = [this] { return MakeReport(); };
  sync.on_open = [this] { logs_->Up(); };
  sync.on_welcome = [this](const v1::Welcome& welcome) { root_.OnWelcome(welcome); };
  sync.on_closed = [this] { logs_->Down(); };
  sync.on_desired = [this](v1::DesiredState set) { OnDesired(std::move(set)); };
  sync_ = std::make_unique<SyncSession>(io_, stub_, seed_, std::move(sync));
  LogService::Hooks logs;
  logs.introduction = [this] { return MakeIntroduction(); };
  logs.folder = [this](std::uint64_t job, std::uint32_t attempt) { return LogFolder(options_, job, attempt); };
  logs.open = [this](std::uint64_t job, std::uint32_t attempt) { return LogIsOpen(job, attempt); };
  logs_ = std::make_unique<LogService>(io_, stub_, watch_, seed_ + 1, std::move(logs));
}

// The Hello tells its address: a connection begins when it is known, and begins anew when it is another one.
Status Agent::StartReplica() {
  const AgentOptions& o = options_;
  replica_ = std::make_unique<ReplicaSupervisor>(
      io_,
      ReplicaOptions{o.replica_program, o.state_dir + "/replica", o.replica_memory_bytes, o.replica_listen,
                     o.replica_secret_file, o.replica_secret, o.replica_tls, o.replica_device, o.replica_service_level},
      boot_id_, [this] {
        if (std::exchange(connecting_, true)) return sync_->Restart();
        sync_->Start();
      });
  return replica_->Start();
}

void Agent::Stop() {
  if (std::exchange(stopped_, true)) return;
  replica_->Stop();
  saves_.Stop();
  root_.Stop();
  sync_->Stop();
  logs_->Down();
  wake_.cancel();
  for (auto& [key, task] : tasks_) {
    if (task.socket) task.socket->Close();
  }
  unpacker_->Stop();
  runtime_->Stop();
  watch_.Stop();
}

void Agent::OnDesired(v1::DesiredState set) {
  const Revision incoming{set.epoch(), set.revision()};
  const Revision accepted = desired_.revision;
  if (!Accepts(accepted, incoming)) {
    LogWarning("event=stale_set_ignored epoch={} revision={} accepted_epoch={} accepted_revision={}", incoming.epoch,
               incoming.revision, accepted.epoch, accepted.revision);
    return;
  }
  if (set.tasks_size() > kTasksMax) {
    LogError("event=desired_state_refused tasks={} error=\"a node has at most {} tasks\"", set.tasks_size(), kTasksMax);
    return;
  }
  Desired desired = FromProto(set, BootNow(), true);
  if (Status status = store_.Save(set, NeedsDurability(desired)); !status.ok()) {
    // Not acted on: after the reconnect the scheduler sends it again, and by then there may be room.
    LogError("event=desired_state_not_saved error={}", Quoted(status.message()));
    return sync_->Restart();
  }
  wanted_ = std::move(set);
  desired_ = std::move(desired);
  Step();
  sync_->Changed(Urgency::kNow);
}

// Whether acting on it starts or stops something that was not started or stopped before.
bool Agent::NeedsDurability(const Desired& desired) const {
  return std::any_of(desired.tasks.begin(), desired.tasks.end(), [this](const DesiredTask& wanted) {
    const auto it = tasks_.find(wanted.key);
    return it == tasks_.end() ? wanted.launch : wanted.stop && !it->second.record.terminated;
  });
}

void Agent::OnRuntimeChange(const TaskKey& key) {
  if (stopped_) return;
  const auto it = tasks_.find(key);
  if (it == tasks_.end()) return;
  if (it->second.in_runtime && runtime_->Inspect(key).ended) logs_->TaskEnded(key.job, key.attempt);
  sync_->Changed(Urgency::kNow);
  StepSoon();
}

void Agent::StepSoon() {
  if (std::exchange(step_pending_, true)) return;
  boost::asio::post(io_, [this] {
    step_pending_ = false;
    if (!stopped_) Step();
  });
}

void Agent::Step() {
  for (const Action& action : Reconcile(desired_, Observe(), BootNow())) CarryOut(action);
  const TimePoint due = NextWake(Observe());
  if (!due) return;
  wake_.expires_after(std::chrono::milliseconds(std::max<std::int64_t>(1, (due - BootNow()).ms)));
  wake_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Step();
  });
}

Observed Agent::Observe() const {
  Observed observed;
  observed.accepted = desired_.revision;
  for (const auto& [key, task] : tasks_) {
    ObservedTask seen = task.seen;
    const Inspection inspection = task.in_runtime ? runtime_->Inspect(key) : task.fixed;
    seen.phase = inspection.phase;
    seen.controllable = inspection.controllable || unpacker_->IsUnpacking(key);
    seen.signalled_agreement = task.record.signalled_agreement;
    seen.terminated = task.record.terminated;
    seen.kill_at = task.record.kill_at;
    observed.tasks.push_back(std::move(seen));
  }
  return observed;
}

void Agent::CarryOut(const Action& action) {
  if (action.kind == ActionKind::kLaunch) return Launch(action.key);
  Task& task = tasks_[action.key];
  switch (action.kind) {
    case ActionKind::kReportLost:
      LogWarning("event=task_unknown task={} note=\"reported lost\"", ToString(action.key));
      task.seen.key = action.key;
      task.fixed.phase = Phase::kReleased;
      task.fixed.lost = true;
      task.fixed.message = "this node knows nothing of the task";
      sync_->Changed(Urgency::kNow);
      break;
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
      saves_.Cancel(action.key);  // what was not started is not started any more
      break;
    case ActionKind::kClearOrphan: task.seen.orphan = false; break;
    case ActionKind::kLaunch: break;
  }
}

void Agent::SendSignal(Task& task, const Interrupt& interrupt) {
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

void Agent::StopTask(Task& task, const Action& action) {
  if (!task.in_runtime) return StopBeforeStart(task, action);
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

void Agent::Forget(const TaskKey& key) {
  const auto it = tasks_.find(key);
  if (it->second.socket) it->second.socket->Close();
  if (it->second.in_runtime) runtime_->Cleanup(key);
  tasks_.erase(it);
  saves_.Forget(key);
  LogInfo("event=task_forgotten task={}", ToString(key));
  sync_->Changed(Urgency::kNow);
  PruneOldLogs();
}

Status Agent::SaveRecord(const Task& task) const {
  Status status = WriteFileAtomically(TaskPaths(runtime_->FolderOf(task.seen.key)).record(), ToJson(task.record),
                                      Durability::kProcess);
  if (!status.ok()) {
    LogError("event=record_not_written task={} error={}", ToString(task.seen.key), Quoted(status.message()));
  }
  return status;
}

v1::Hello Agent::MakeHello() const {
  v1::Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_cluster_id(options_.cluster_id);
  hello.set_node_name(options_.node_name);
  hello.set_highest_job_id(HighestJob(options_.state_dir));
  hello.set_machine_id(options_.machine_id);
  hello.set_boot_id(boot_id_);
  v1::NodeLabels& labels = *hello.mutable_labels();
  labels.set_pool(options_.pool);
  labels.set_zone(options_.zone);
  labels.set_leaf(options_.leaf);
  labels.set_gpu_type(options_.gpu_type);
  labels.set_gpu_count(gpus_->count());
  labels.set_nvlink(options_.nvlink);
  labels.set_nic(options_.nic);
  labels.set_simulated_gpus(gpus_->simulated());
  hello.set_address(options_.address);
  hello.set_agent_version(kVersion);
  hello.set_runtime(runtime_->name());
  hello.set_replica_address(replica_->address());
  if (options_.runtime == "runc") {  // plain processes see the whole node
    for (const std::string& folder : options_.mount_allow) hello.add_allowed_folders(folder);
  }
  saves_.Introduce(&hello);
  hello.set_epoch(desired_.revision.epoch);
  return hello;
}

v1::NodeReport Agent::MakeReport() const {
  v1::NodeReport report;
  report.set_epoch(desired_.revision.epoch);
  report.set_revision(desired_.revision.revision);
  for (const auto& [key, task] : tasks_) {
    const Inspection inspection = task.in_runtime ? runtime_->Inspect(key) : task.fixed;
    const TaskSocket* socket = task.socket.get();
    v1::ObservedTask* out = report.add_tasks();
    ToProto(
        key, inspection, socket ? &socket->ranks() : nullptr,
        [&](std::uint32_t rank) { return socket && socket->connected(rank); }, out);
    saves_.Report(key, out);
    out->set_save_missing(task.save_missing);
    const std::string own = OwnCheckpointFolder(options_.state_dir, key.job);
    if (task.in_runtime && runtime_->SpecOf(key).checkpoint_folder == own) SetLocalPaths(own, out);
  }
  root_.Report(&report);
  return report;
}

v1::LogChunk Agent::MakeIntroduction() const {
  v1::LogChunk chunk;
  chunk.set_node_name(options_.node_name);
  chunk.set_cluster_id(options_.cluster_id);
  chunk.set_machine_id(options_.machine_id);
  return chunk;
}

bool Agent::LogIsOpen(std::uint64_t job, std::uint32_t attempt) const {
  for (auto it = tasks_.lower_bound(TaskKey{job, attempt, 0}); it != tasks_.end(); ++it) {
    if (it->first.job != job || it->first.attempt != attempt) break;
    if (it->second.in_runtime && !runtime_->Inspect(it->first).ended) return true;
  }
  return false;
}

void Agent::PruneOldLogs() {
  const auto known = [this](const std::string& name) {
    return std::any_of(tasks_.begin(), tasks_.end(), [&](const auto& entry) {
      return name == std::to_string(entry.first.job) + "-" + std::to_string(entry.first.attempt);
    });
  };
  const int removed = PruneLogs(options_.state_dir + "/logs", options_.logs_bytes_max, options_.log_folders_max, known);
  if (removed > 0) LogInfo("event=logs_pruned attempts={}", removed);
}

}  // namespace glim::nodeagent
