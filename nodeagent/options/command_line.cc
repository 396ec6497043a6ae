#include "nodeagent/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nodeagent/options/gone_options.h"
#include "sdk/log/log.h"

namespace glim::nodeagent {
namespace {

// A check in the words of the command line's parser.
std::function<std::string(std::string&)> WhyNot(Status (*check)(const std::string&)) {
  return [check](const std::string& word) {
    const Status status = check(word);
    return status.ok() ? std::string() : status.message() + ": " + status.fix();
  };
}

void AddReplicaOptions(CLI::App& app, AgentOptions& o) {
  app.add_option("--replica-state", o.replica_state,
                 "file in which this node's glim-replica says where it is (none: this node holds no copies of others' "
                 "checkpoints)");
  app.add_option("--replica-keys", o.replica_keys,
                 "file in which this agent tells that glim-replica whose tokens count");
  app.add_option("--replica-tls", o.replica_tls, "UCX's transports for replicas, in tasks (all)");
  app.add_option("--replica-device", o.replica_device,
                 "the network card for replicas, in tasks, as UCX names it: mlx5_0:1 (all)");
  app.add_option("--replica-service-level", o.replica_service_level,
                 "InfiniBand's service level of that traffic, 0 to 15 (the card's default)")
      ->check(CLI::Range(0, 15));
}

void AddIdentityOptions(CLI::App& app, AgentOptions& o) {
  app.add_flag(
      "--insecure-without-identity", o.insecure_without_identity,
      "no TLS and no certificate, for a scheduler that runs so: whoever answers there gives this agent orders");
  app.add_option("--login-socket", o.login_socket,
                 "of a host where users log in: serves their `glim login` at this socket, and runs no tasks");
}

void AddContainerOptions(CLI::App& app, AgentOptions& o) {
  app.add_option("--cgroup-parent", o.cgroup_parent,
                 "the control group below which the tasks' are; this agent's alone (one below /glim)");
  app.add_option("--mount-allow", o.mount_allow,
                 "folders of this node that jobs may name as workdir, checkpoint.dir or "
                 "in mounts, with all below; for containers")
      ->capture_default_str();
  app.add_option(
         "--tmp-bytes", o.tmp_bytes_max,
         "how much a task may have in its container's /tmp (units: KiB, MiB, GiB); who has more is killed (0: as "
         "much as the disk has)")
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--image-registries", o.image_registries,
                 "where images come from beside registries at public addresses: HOST[:PORT], or http://HOST[:PORT] "
                 "without TLS");
  app.add_option("--image-bytes", o.image_bytes_max,
                 "how much one image may take while it is unpacked (units: KiB, MiB, GiB)")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--images-bytes", o.images_bytes_max,
                 "how much the images that this node keeps may take; the least recently used go first")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_flag("--allow-io-uring", o.allow_io_uring,
               "containers may use io_uring, whose kernel code had many holes (they may not)");
  app.add_flag("--allow-vsock", o.allow_vsock,
               "containers of a virtual machine may open sockets to its host (they may not)");
  app.add_option(
         "--user-namespace", o.user_namespace,
         "whether containers have a user namespace, in which root is nobody of this node: yes (or the agent does "
         "not start), no, or auto: where the kernel allows")
      ->capture_default_str();
  app.add_option("--devices", o.devices,
                 "what containers of tasks with GPUs get: auto (CDI's nvidia.com/gpu=all if a CDI file has it, else "
                 "nvidia), nvidia (the driver's device nodes and libraries), none, or names of CDI devices")
      ->capture_default_str();
  app.add_option("--infiniband", o.infiniband,
                 "whether containers get the node's RDMA cards, and may lock memory without a bound then: auto or no")
      ->capture_default_str();
  app.add_flag("--cdi-writable", o.cdi_writable,
               "mounts of CDI files may be written to where the file does not say ro (they are read-only)");
  app.add_option("--sys-root", o.sys_root,
                 "for tests: a folder that stands for / where the agent looks for hardware and CDI files (/)");
  app.add_option("--reserve-memory", o.reserve_memory_bytes,
                 "memory that the node keeps for itself; a task that asks for no limits.memory is held to the rest "
                 "(units: KiB, MiB, GiB; 1 GiB or 5 %, whichever is more)")
      ->transform(CLI::AsSizeValue(false));
}

void AddHardwareOptions(CLI::App& app, AgentOptions& o) {
  app.add_option("--gpu-type", o.gpu_type, "what GPUs the node has, as jobs ask for them");
  app.add_option("--gpus", o.gpus_text, "how many GPUs the node gives to jobs, or auto: those that are there")
      ->check(CLI::Validator(WhyNot(CheckGpus), "", "gpus"))
      ->capture_default_str();
  app.add_flag("--simulated-gpus", o.simulated_gpus, "no real GPUs are behind --gpus: they are numbers to schedule by");
  app.add_option("--nvlink", o.nvlink, "none, pair or full")->capture_default_str();
  app.add_option("--nic", o.nic, "infiniband, roce or ethernet")->capture_default_str();
  app.add_option("--nvml", o.nvml, "the library of NVIDIA's driver, a name or a path")->capture_default_str();
  app.add_option("--gpu-seconds", o.gpu_seconds, "how long NVIDIA's driver may take to answer before it counts as hung")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
}

void AddHealthOptions(CLI::App& app, AgentOptions& o) {
  app.add_option(
         "--health", o.health,
         "whether glim-health looks after the node's hardware: yes, no, or auto: where this agent is root or may "
         "read the kernel's log")
      ->capture_default_str();
  app.add_option("--health-kmsg", o.health_kmsg, "for tests: a pipe or a file of records, in place of the kernel's log")
      ->capture_default_str();
  app.add_option("--health-root", o.health_root, "for tests: the folder that has sys/ and proc/ of the hardware")
      ->capture_default_str();
}

void AddLogOptions(CLI::App& app, AgentOptions& o) {
  app.add_option("--metrics", o.metrics, "HOST:PORT of this machine where Prometheus reads the agent, or none")
      ->capture_default_str();
  app.add_option("--log-level", o.log_level, "trace, debug, info, warning, error, critical or off")
      ->check(CLI::Validator(WhyNot(CheckLogLevel), "", "level"))
      ->capture_default_str();
  app.add_option("--log-file-bytes", o.log_limits.file_bytes_max,
                 "size at which a rank's log file is rotated (units: KiB, MiB, GiB)")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--log-files", o.log_limits.files_max, "how many files of a rank's log are kept")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--logs-bytes", o.logs_bytes_max,
                 "how much all finished attempts' logs may take (units: KiB, MiB, GiB)")
      ->transform(CLI::AsSizeValue(false))
      ->capture_default_str();
  app.add_option("--logs-attempts", o.log_folders_max, "of how many attempts logs are kept")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
}

}  // namespace

void AddOptions(CLI::App& app, AgentOptions& o) {
  app.set_version_flag("--version", GLIM_VERSION);
  app.add_option(
      "--config", o.config_file,
      "a YAML file that says what is not said here, such as /etc/glim/agent.yaml; its keys are these options "
      "with '_' for '-'");
  app.add_option("--scheduler", o.scheduler,
                 "where the scheduler listens for agents, HOST:PORT (where this node was enrolled, or 127.0.0.1:7603)");
  AddIdentityOptions(app, o);
  app.add_option("--cluster-id", o.cluster_id,
                 "the cluster that this node belongs to, as `glim version` shows it (the state folder's own)");
  app.add_option("--node-name", o.node_name, "this node's name in the cluster (the host's name)");
  app.add_option("--state-dir", o.state_dir, "the agent's own folder, private (0700); made when it is missing");
  app.add_option("--pool", o.pool, "the pool that this node belongs to")->capture_default_str();
  app.add_option("--zone", o.zone, "the fabric that this node is in")->capture_default_str();
  app.add_option("--leaf", o.leaf, "the leaf switch that this node hangs on")->capture_default_str();
  AddHardwareOptions(app, o);
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
                 "what tasks run in: runc or crun (containers), process, or auto: runc for root (it refuses to "
                 "start where runc is missing), process for others. As root, process runs nobody's jobs; with "
                 "--any-user every job is root on this node")
      ->capture_default_str();
  app.add_option("--runc", o.runc, "the program runc or crun (looked for in the usual folders)");
  app.add_option("--task-user", o.task_user_text,
                 "NAME or UID:GID[:GROUP...], not root: whom tasks in containers run as whose user has no uid in the "
                 "registry (none: this node runs no such jobs)");
  app.add_flag("--saves-group-readable", o.saves_group_readable,
               "folders of jobs' saves are made such that the user's group may read them, and so are the SDK's saves "
               "in them (their user's alone)");
  app.add_flag("--any-user", o.any_user,
               "for development: plain processes of all users' jobs run as this agent's own user, with all its rights "
               "(without it this node runs jobs of the user with the agent's uid alone)");
  AddContainerOptions(app, o);
  AddHealthOptions(app, o);
  app.add_option("--path-seconds", o.path_seconds,
                 "how long storage that a job names (workdir, checkpoint.dir, mounts) may take to answer before the "
                 "task's start fails")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--prolog", o.prolog,
                 "a program to run before each task's first process; if it fails the node is taken out");
  app.add_option("--epilog", o.epilog,
                 "a program to run after each task's last process; if it fails the node is taken out");
  app.add_option("--hook-seconds", o.hook_seconds, "how long --prolog and --epilog may take each")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--machine-id", o.machine_id,
                 "tells this machine from another under the same name (/etc/machine-id and the state folder)");
  AddLogOptions(app, o);
}

namespace {

// Options that are labels, or the address; Hello calls them the same without the dashes, and with '_'.
constexpr const char* kLabelOptions[] = {"--pool", "--zone",   "--leaf", "--gpu-type",
                                         "--gpus", "--nvlink", "--nic",  "--address"};

std::string InHello(std::string option) {
  option.erase(0, 2);
  std::replace(option.begin(), option.end(), '-', '_');
  return option;
}

// `glim-agent enrol ...`; the token comes on standard input.
CommandLine ParseEnrol(std::vector<const char*> words) {
  words.erase(words.begin() + 1);
  CommandLine line;
  EnrolOrder& order = line.enrol.emplace();
  CLI::App app("Makes this machine a node: the token of `glim admin node invite` comes on standard input",
               "glim-agent enrol");
  app.add_option("--scheduler", order.scheduler, "where the scheduler listens for users, HOST:PORT")->required();
  app.add_option("--ca-fingerprint", order.ca_fingerprint, "of the scheduler's authority, as the invitation says it")
      ->required();
  app.add_option("--name", order.node, "the node's name in the cluster")->required();
  app.add_option("--state-dir", order.state_dir, "the agent's own folder; key and certificate go to its identity/")
      ->required();
  app.add_option("--machine-id", order.machine_id, "as the agent is told it (/etc/machine-id and the state folder)");
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    line.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return line;
}

}  // namespace

Result<CommandLine> ParseCommandLine(int argc, const char* const* argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "enrol") return ParseEnrol({argv, argv + argc});
  std::vector<const char*> words(argv, argv + argc);
  if (first == "settings") words.erase(words.begin() + 1);
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (Status status = RefuseGone(words[i]); !status.ok()) return status;
  }
  CommandLine line;
  line.settings = first == "settings";
  std::set<std::string> told;  // on the command line
  const auto parse = [&](AgentOptions& options) {
    CLI::App app("The agent of one Glim node: runs the tasks that the scheduler gives it");
    AddOptions(app, options);
    try {
      app.parse(static_cast<int>(words.size()), words.data());
    } catch (const CLI::ParseError& error) {
      line.exit_code = app.exit(error) == 0 ? 0 : 2;
    }
    for (const CLI::Option* option : app.get_options()) {
      if (option->count() == 0) continue;
      told.insert(option->get_name());
      line.places.Forget(option->get_name());
    }
    options.defaults.clear();
    for (const char* option : kLabelOptions) {
      if (!told.contains(option) && !line.places.Has(option)) options.defaults.push_back(InHello(option));
    }
  };
  AgentOptions said;
  parse(said);
  if (line.exit_code || said.config_file.empty()) {
    line.options = std::move(said);
    return line;
  }
  if (Status status = ReadAgentConfig(said.config_file, &line.options, &line.places); !status.ok()) return status;
  parse(line.options);  // what is said on the command line counts
  return line;
}

}  // namespace glim::nodeagent
