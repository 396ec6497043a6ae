#include "nodeagent/agent.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "nodeagent/launch/node_folders.h"
#include "nodeagent/os/boot_clock.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/services/former_replica.h"
#include "nodeagent/sync/message_sizes.h"
#include "sdk/base/version_range.h"
#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

constexpr VersionRange kProtocolVersions{1, 1};  // docs/protocols/agent-sync.md
constexpr const char* kVersion = GLIM_VERSION;
constexpr std::chrono::minutes kSocketsAgain{5};

TimePoint WallNow() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

// glim-health and what it is told; empty: nobody looks after the hardware.
std::vector<std::string> HealthCommand(const AgentOptions& options) {
  if (options.health != "yes") return {};
  return {BesideShim(options, "glim-health"), "--kmsg",   options.health_kmsg, "--root", options.health_root, "--state",
          options.state_dir + "/health.json", "--folder", options.state_dir,   "--nvml", options.nvml};
}

// A scheduler of the first release tells no version: it speaks 1.
Status CheckVersion(const v1::Welcome& welcome) {
  const std::uint32_t spoken = std::max(1u, welcome.protocol_version());
  if (CommonVersion({spoken, spoken}, kProtocolVersions)) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition, "the scheduler speaks protocol version " + std::to_string(spoken) +
                                                     ", this agent (" + kVersion + ") " + ToString(kProtocolVersions))
      .WithReason("PROTOCOL_VERSION")
      .WithField("protocol_version")
      .WithFix("install agent and scheduler of releases that have a version in common");
}

}  // namespace

Agent::Agent(boost::asio::io_context& io, AgentOptions options, Inventory found, StubSource stub, std::uint64_t seed)
    : io_(io),
      options_(std::move(options)),
      stub_(std::move(stub)),
      seed_(seed),
      hardware_(io, options_, std::move(found), [this] { sync_->Restart(); }),
      gpus_(hardware_.MakeGpus(io,
                               [this] {
                                 sync_->Changed(Urgency::kNow);
                                 if (gpus_->Fault().empty()) hardware_.Look();
                               })),
      watch_(io),
      log_export_(io, options_.state_dir + "/logs", {},
                  [this](const LogExport::Attempt& a) { return tasks_->LogIsOpen(a.job, a.number); }),
      replica_(io, options_.replica_state, options_.replica_keys, options_.cluster_id, [this] { sync_->Restart(); }),
      saves_(io, options_, [this] { sync_->Restart(); }),
      root_(io, BesideShim(options_, "glim-paths"), {},
            options_.in_containers() ? options_.mount_allow : std::vector<std::string>(),
            [this] { sync_->Changed(Urgency::kNow); }),
      sockets_(io, BesideShim(options_, "glim-paths"), kSocketsAgain, [this] { sync_->Changed(Urgency::kNow); }),
      health_(io, HealthCommand(options_), {}, [this] { sync_->Changed(Urgency::kNow); }),
      reach_(io, [this] { sync_->Changed(Urgency::kNow); }),
      collector_(
          io, options_, stub_, {},
          {[this](std::uint64_t job) { return tasks_->HasTaskOf(job); }, [this] { return tasks_->revision().epoch; }}) {
}

Agent::~Agent() = default;

Status Agent::Start() {
  Result<std::string> boot_id = ReadBootId();
  if (!boot_id.ok()) return boot_id.status();
  boot_id_ = *boot_id;
  if (Status status = watch_.Start(); !status.ok()) return status;
  NodeTasks::Hooks hooks;
  hooks.report_changed = [this](Urgency urgency) { sync_->Changed(urgency); };
  hooks.task_ended = [this](std::uint64_t job, std::uint32_t attempt) {
    logs_->TaskEnded(job, attempt);
    log_export_.TaskEnded(job, attempt);
  };
  tasks_ = std::make_unique<NodeTasks>(io_, options_, watch_, *gpus_, boot_id_, std::move(hooks));
  if (Status status = tasks_->Start(); !status.ok()) return status;
  epochs_ = std::make_unique<EpochBound>(tasks_->revision().epoch, BootNow());
  saves_.Start();
  MakeMetrics();
  MakeStreams();
  if (options_.in_containers()) sockets_.Start();  // plain processes see all of the node anyway
  health_.Start();
  EndFormerReplica(options_.state_dir, boot_id_);
  replica_.Start();
  sync_->Start();
  return Status::Ok();
}

// A node whose metrics cannot be served is a node all the same.
void Agent::MakeMetrics() {
  if (options_.metrics == "none") return;
  auto started = AgentMetrics::Start(options_.metrics, options_.state_dir, kVersion);
  if (!started.ok()) {
    LogWarning("event=no_metrics error=\"{}\" fix=\"{}\"", started.status().message(), started.status().fix());
    return;
  }
  metrics_ = std::move(started).value();
  LogInfo("event=metrics port={}", metrics_->port());
}

void Agent::MakeStreams() {
  SyncSession::Hooks sync;
  sync.hello = [this] { return MakeHello(); };
  sync.report = [this] { return MakeReport(); };
  sync.believe = [this](const v1::SchedulerMessage& message) { return Believe(message); };
  sync.on_open = [this] {
    logs_->Up();
    if (metrics_) metrics_->SetConnected(true);
  };
  sync.on_welcome = [this](const v1::Welcome& welcome) {
    root_.OnWelcome(welcome);
    log_export_.OnWelcome(welcome);
    collector_.OnWelcome();
    replica_.OnWelcome(welcome);
    if (on_welcome_) on_welcome_(welcome);
  };
  sync.on_closed = [this] {
    hardware_.Look();
    logs_->Down();
    if (metrics_) metrics_->SetConnected(false);
  };
  sync.on_desired = [this](v1::DesiredState set) {
    reach_.Accept(set);
    tasks_->Accept(std::move(set));
  };
  sync_ = std::make_unique<SyncSession>(io_, stub_, seed_, std::move(sync));
  LogService::Hooks logs;
  logs.introduction = [this] { return MakeIntroduction(); };
  logs.folder = [this](std::uint64_t job, std::uint32_t attempt) { return LogFolder(options_, job, attempt); };
  logs.open = [this](std::uint64_t job, std::uint32_t attempt) { return tasks_->LogIsOpen(job, attempt); };
  logs_ = std::make_unique<LogService>(io_, stub_, watch_, seed_ + 1, std::move(logs));
}

void Agent::Reconnect() {
  if (sync_) sync_->Restart();
}

void Agent::Stop() {
  if (std::exchange(stopped_, true)) return;
  replica_.Stop();
  saves_.Stop();
  root_.Stop();
  sockets_.Stop();
  hardware_.Stop();
  gpus_->Stop();
  health_.Stop();
  reach_.Stop();
  collector_.Stop();
  sync_->Stop();
  logs_->Down();
  log_export_.Stop();
  tasks_->Stop();
  watch_.Stop();
}

Status Agent::Believe(const v1::SchedulerMessage& message) {
  if (message.has_welcome()) {
    if (Status status = CheckVersion(message.welcome()); !status.ok()) return status;
  }
  const std::uint64_t epoch = message.has_welcome() ? message.welcome().epoch() : message.desired().epoch();
  return epochs_->Believe(epoch, WallNow(), BootNow());
}

v1::Hello Agent::MakeHello() const {
  v1::Hello hello;
  hello.set_protocol_version(kProtocolVersions.oldest);
  hello.set_newest_protocol_version(kProtocolVersions.newest);
  hello.set_message_bytes_max(kDesiredMessageBytesMax);
  hello.set_cluster_id(options_.cluster_id);
  hello.set_node_name(options_.node_name);
  hello.set_highest_job_id(HighestJob(options_.state_dir));
  tasks_->receipts().Introduce(&hello);
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
  for (const std::string& field : options_.defaults) hello.add_defaults(field);
  hardware_.Introduce(&hello);
  hello.set_agent_version(kVersion);
  hello.set_runtime(tasks_->runtime_name());
  hello.set_census(tasks_->census_is_exact() ? "groups" : "best_effort");
  replica_.Introduce(&hello);
  if (options_.in_containers()) {  // plain processes see the whole node
    for (const std::string& folder : options_.mount_allow) hello.add_allowed_folders(folder);
  }
  if (!options_.in_containers() && !options_.any_user) hello.set_only_uid(::geteuid());
  hello.set_needs_uid(options_.in_containers() && !options_.task_user);
  saves_.Introduce(&hello);
  hello.set_epoch(tasks_->revision().epoch);
  hello.set_clock_ms(WallNow().ms);
  return hello;
}

v1::NodeReport Agent::MakeReport() const {
  v1::NodeReport report;
  tasks_->Report(gpus_->simulated() ? std::nullopt : health_.GpusBusyAt(), &report);
  root_.Report(&report);
  saves_.Report(&report);
  sockets_.Report(&report);
  reach_.Report(&report);
  if (const std::string fault = gpus_->Fault(); !fault.empty()) {
    report.add_faults()->set_kind("gpus_hang");
    report.mutable_faults(report.faults_size() - 1)->set_message(fault);
  }
  health_.Report(&report);
  if (metrics_) metrics_->Look(report, BootNow());
  FitReport(&report);
  return report;
}

v1::LogChunk Agent::MakeIntroduction() const {
  v1::LogChunk chunk;
  chunk.set_node_name(options_.node_name);
  chunk.set_cluster_id(options_.cluster_id);
  chunk.set_machine_id(options_.machine_id);
  return chunk;
}

}  // namespace glim::nodeagent
