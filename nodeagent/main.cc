// glim-agent: the daemon of one node. It goes on SIGTERM and SIGINT; the tasks stay, and its next life adopts them.
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <boost/asio/signal_set.hpp>
#include <random>

#include "nodeagent/agent.h"
#include "nodeagent/sync/desired_store.h"
#include "nodeagent/sync/message_sizes.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

void AddReplicaOptions(CLI::App& app, AgentOptions& o) {
  app.add_option("--replica-memory", o.replica_memory_bytes,
                 "memory for copies of other nodes' checkpoints (units: KiB, MiB, GiB), held by a glim-replica that "
                 "this agent starts and that outlives it (0: none)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--replica-secret-file", o.replica_secret_file,
                 "of the cluster's secret, readable by its owner alone; jobs' tokens for replicas are made of it");
  app.add_option("--replica-listen", o.replica_listen,
                 "HOST:PORT of that glim-replica, port 0: a free one (a free one "
                 "of --address)");
  app.add_option("--replica-tls", o.replica_tls, "UCX's transports for replicas, here and in tasks (all)");
  app.add_option("--replica-device", o.replica_device,
                 "the network card for replicas, here and in tasks, as UCX names it: mlx5_0:1 (all)");
  app.add_option("--replica-service-level", o.replica_service_level,
                 "InfiniBand's service level of that traffic, 0 to 15 (the card's default)")
      ->check(CLI::Range(0, 15));
}

void AddOptions(CLI::App& app, AgentOptions& o) {
  app.set_version_flag("--version", GLIM_VERSION);
  app.add_option("--scheduler", o.scheduler, "where the scheduler listens for agents, HOST:PORT")
      ->capture_default_str();
  app.add_option("--cluster-id", o.cluster_id,
                 "the cluster that this node belongs to, as `glim version` shows it (the state folder's own)");
  app.add_option("--node-name", o.node_name, "this node's name in the cluster (the host's name)");
  app.add_option("--state-dir", o.state_dir, "the agent's own folder, private (0700); made when it is missing")
      ->required();
  app.add_option("--pool", o.pool, "the pool that this node belongs to")->capture_default_str();
  app.add_option("--zone", o.zone, "the fabric that this node is in")->capture_default_str();
  app.add_option("--leaf", o.leaf, "the leaf switch that this node hangs on")->capture_default_str();
  app.add_option("--gpu-type", o.gpu_type, "what GPUs the node has, as jobs ask for them");
  app.add_option("--gpus", o.gpus, "how many GPUs the node has")->capture_default_str();
  app.add_flag("--simulated-gpus", o.simulated_gpus, "no real GPUs are behind --gpus: they are numbers to schedule by");
  app.add_option("--nvlink", o.nvlink, "none, pair or full")->capture_default_str();
  app.add_option("--nic", o.nic, "infiniband, roce or ethernet")->capture_default_str();
  app.add_option("--address", o.address, "where other nodes reach this one's tasks (MASTER_ADDR)")
      ->capture_default_str();
  app.add_option("--hfreduce-device", o.hfreduce_device,
                 "the network card that tasks' glim.hfreduce uses, as UCX names it: mlx5_0:1 (all)");
  app.add_option("--hfreduce-service-level", o.hfreduce_service_level,
                 "InfiniBand's service level of that traffic, 0 to 15 (the card's default)")
      ->check(CLI::Range(0, 15));
  app.add_option("--saves-listen", o.saves_listen,
                 "HOST:PORT where other nodes' agents copy jobs' saves from this "
                 "node, port 0: a free one; none: they cannot (a free one of --address)");
  AddReplicaOptions(app, o);
  app.add_option("--shim", o.shim, "the program glim-shim (the one beside this program)");
  app.add_option("--sdk", o.sdk,
                 "the SDK's folder, which every task gets: `import glim` and glim-task work in it; "
                 "none: no SDK (../share/glim/sdk beside this program)");
  app.add_option("--runtime", o.runtime,
                 "what tasks run in: runc (containers), process, or auto: runc for root where it "
                 "is installed, else process")
      ->capture_default_str();
  app.add_option("--runc", o.runc, "the program runc (looked for in the usual folders)");
  app.add_option("--cgroup-parent", o.cgroup_parent,
                 "the control group below which the tasks' are; this agent's alone (one below /glim)");
  app.add_option("--task-user", o.task_user_text, "UID:GID that containers' processes run as")->capture_default_str();
  app.add_option("--mount-allow", o.mount_allow,
                 "folders of this node that jobs may name as workdir, checkpoint.dir or "
                 "in mounts, with all below; for containers")
      ->capture_default_str();
  app.add_option("--log-level", o.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_option("--machine-id", o.machine_id,
                 "tells this machine from another under the same name (/etc/machine-id and the state folder)");
  app.add_option("--log-file-bytes", o.log_limits.file_bytes_max, "size at which a rank's log file is rotated")
      ->capture_default_str();
  app.add_option("--log-files", o.log_limits.files_max, "how many files of a rank's log are kept")
      ->capture_default_str();
  app.add_option("--logs-bytes", o.logs_bytes_max, "how much all finished attempts' logs may take")
      ->capture_default_str();
  app.add_option("--logs-attempts", o.log_folders_max, "of how many attempts logs are kept")->capture_default_str();
}

// Held as long as the agent lives, whatever way it ends.
Result<UniqueFd> LockStateFolder(const std::string& state_dir) {
  const std::string path = state_dir + "/lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return FileError("open", path, errno);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Status(StatusCode::kFailedPrecondition, "another glim-agent uses " + state_dir)
        .WithField("--state-dir")
        .WithFix("stop it, or give this one a --state-dir of its own");
  }
  return fd;
}

std::shared_ptr<grpc::Channel> Connect(const AgentOptions& options) {
  grpc::ChannelArguments arguments;
  // The agent's own pauses decide when to try again, not the channel's, which grow to two minutes.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 3000);  // in truth the time a connection attempt may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Pings rarer than servers tolerate by default; the timeout is also TCP's for unacknowledged data, so that a
  // scheduler whose machine vanished is noticed by the next reports.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 310'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kDesiredMessageBytesMax));
  return grpc::CreateCustomChannel(options.scheduler, grpc::InsecureChannelCredentials(), arguments);
}

int Fail(const Status& status) {
  std::fprintf(stderr, "glim-agent: %s%s%s\n", status.message().c_str(), status.fix().empty() ? "" : ": ",
               status.fix().c_str());
  return 1;
}

int Main(int argc, char** argv) {
  AgentOptions options;
  CLI::App app("The agent of one Glim node: runs the tasks that the scheduler gives it");
  AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  ::umask(077);
  StartLog("ts=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v", options.log_level);
  if (Status status = CompleteOptions(&options); !status.ok()) return Fail(status);
  Result<std::unique_ptr<GpuInventory>> gpus = MakeGpuInventory(options.gpus, options.simulated_gpus);
  if (!gpus.ok()) return Fail(gpus.status());
  Result<UniqueFd> lock = LockStateFolder(options.state_dir);
  if (!lock.ok()) return Fail(lock.status());
  Result<std::string> cluster = DesiredStore(options.state_dir).Claim(options.cluster_id);
  if (!cluster.ok()) return Fail(cluster.status());
  options.cluster_id = *cluster;
  ::signal(SIGPIPE, SIG_IGN);

  boost::asio::io_context io(1);
  const std::unique_ptr<v1::AgentApi::Stub> stub = v1::AgentApi::NewStub(Connect(options));
  Agent agent(io, options, std::move(gpus).value(), stub.get(), std::random_device()());
  // Before the start: whoever hears the agent's first word may already stop it.
  boost::asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    LogInfo("event=stopping signal={} note=\"tasks and replicas stay\"", signal);
    agent.Stop();
  });
  if (Status status = agent.Start(); !status.ok()) return Fail(status);
  LogInfo("event=started node={} cluster={} scheduler={} runtime={} state_dir={} gpus={} simulated={}",
          options.node_name, options.cluster_id, options.scheduler, options.runtime, Quoted(options.state_dir),
          options.gpus, options.simulated_gpus);
  io.run();
  return 0;
}

}  // namespace
}  // namespace glim::nodeagent

int main(int argc, char** argv) {
  try {
    return glim::nodeagent::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glim-agent: %s\n", error.what());
    return 1;
  }
}
