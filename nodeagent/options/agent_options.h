// What the agent is told on its command line and in its configuration file (agent_config.h). Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nodeagent/devices/device_choice.h"
#include "nodeagent/task/task_files.h"
#include "nodeagent/task/task_user.h"
#include "sdk/base/result.h"
#include "sdk/base/status.h"

namespace glim::nodeagent {

inline constexpr const char* kSchedulerByDefault = "127.0.0.1:7603";

struct AgentOptions {
  std::string config_file;  // empty: none
  std::string scheduler;    // the agents' port; empty: where this node was enrolled, or 127.0.0.1:7603
  bool insecure_without_identity =
      false;                 // no TLS: whoever reaches the scheduler's port, or answers there, is believed
  std::string login_socket;  // of a host where users log in: serves this and runs no tasks; empty: none
  std::string cluster_id;    // empty: the one that the state folder was first used for
  std::string node_name;     // empty: the host's name
  std::string state_dir;
  std::string pool = "default";
  std::string zone = "zone-1";
  std::string leaf = "leaf-1";
  std::string gpu_type;
  std::string gpus_text = "auto";  // 0 to 64, or auto: what is there
  std::uint32_t gpus = 0;          // from the text; completed once the node's hardware has been looked at
  bool simulated_gpus = false;
  std::string nvlink = "none";
  std::string nic = "ethernet";
  std::string address = "127.0.0.1";
  std::vector<std::string> defaults;  // of pool to address: what nobody has told the agent, in Hello's words
  std::string hfreduce_device;        // UCX_NET_DEVICES of its traffic, such as "mlx5_0:1"; empty: not said
  int hfreduce_service_level = -1;    // InfiniBand's, 0 to 15; -1: not said
  std::string saves_listen;        // HOST:PORT where other agents copy saves, port 0: a free one; empty: a free one of
                                   // `address`; "none": nowhere
  std::string replica_state;       // file in which this node's glim-replica says where it is; empty: it has none
  std::string replica_keys;        // file that tells that one whose tokens count; set if replica_state is
  std::string replica_tls;         // UCX_TLS of replicas' traffic in tasks; empty: not said
  std::string replica_device;      // UCX_NET_DEVICES, likewise
  int replica_service_level = -1;  // InfiniBand's, 0 to 15; -1: not said
  std::string sdk;               // of tasks: a folder, or "none"; completed: its path, or empty for none (sdk_folder.h)
  std::string shim;              // empty: beside the agent's own program
  std::string runtime = "auto";  // process, runc, crun, or auto: runc for root, process for others
  std::string runc;              // the program of runc or crun; empty: looked for in the usual folders
  std::string cgroup_parent;     // of the tasks' control groups; empty: one of the agent's own below /glim
  std::string task_user_text;    // NAME or UID:GID[:GROUP...]; empty: none
  std::optional<TaskUser> task_user;  // of tasks in containers whose user the registry gives no uid; from the text
  bool saves_group_readable = false;  // saves' folders are made their user's group's to read
  bool any_user = false;              // plain processes of all users are the agent's own user, for development
  std::vector<std::string> mount_allow = {"/home", "/data", "/scratch", "/mnt", "/srv"};  // what jobs may name
  // Where images come from beside registries at public addresses: HOST[:PORT], or http://HOST[:PORT].
  std::vector<std::string> image_registries;
  std::int64_t image_bytes_max = std::int64_t{64} << 30;    // of one image, while it is unpacked
  std::int64_t images_bytes_max = std::int64_t{200} << 30;  // of all that this node keeps
  bool allow_io_uring = false;                              // in containers (confinement/seccomp_profile.h)
  bool allow_vsock = false;                                 // likewise
  std::string user_namespace = "auto";  // of containers: yes, no, or auto: where the kernel allows; completed: not auto
  std::int64_t reserve_memory_bytes = -1;       // of the node, for itself; completed: -1 where tasks have no containers
  std::int64_t tmp_bytes_max = 0;               // of a container's own /tmp; 0: as much as the disk has
  std::vector<std::string> devices = {"auto"};  // of tasks with GPUs (devices/device_choice.h)
  std::string infiniband = "auto";              // of all tasks, likewise
  bool cdi_writable = false;
  std::string sys_root;             // stands for "/" where the agent looks for hardware: for tests; empty: "/"
  std::uint32_t path_seconds = 10;  // how long a path that a job names may take to answer
  std::string metrics = "none";     // HOST:PORT of this machine alone, where its figures are served; "none": nowhere
  std::string nvml = "libnvidia-ml.so.1";  // the library of NVIDIA's driver: a name or a path
  std::uint32_t gpu_seconds = 20;          // how long that driver may take to answer
  std::string health = "auto";             // yes, no, or auto: where it may be looked; completed: not auto
  std::string health_kmsg = "/dev/kmsg";   // another kernel log, a pipe or a file: for tests
  std::string health_root = "/";           // of sys/ and proc/; another one: for tests
  std::string log_level = "info";
  std::string machine_id;           // empty: /etc/machine-id and the state folder's path
  std::string secrets_dir;          // of tasks' secrets, on tmpfs (secrets_folder.h); completed; empty: there is none
  std::string prolog;               // the operator's program before a task's first process; empty: none
  std::string epilog;               // and after its last one
  std::uint32_t hook_seconds = 30;  // how long either may take
  LogLimits log_limits;
  std::int64_t logs_bytes_max = std::int64_t{4} << 30;  // of all attempts' logs together
  std::uint32_t log_folders_max = 1000;

  // Whether tasks run in containers; once `runtime` is completed.
  bool in_containers() const { return runtime == "runc" || runtime == "crun"; }
};

// Fills in what was left out (also what `auto` stands for), makes the state folder (private), and checks everything.
// The error names the option.
Status CompleteOptions(AgentOptions* options);

// 0 to 64, or auto.
Status CheckGpus(const std::string& text);
// Of a text that CheckGpus takes; nothing: auto.
std::optional<std::uint32_t> WantedGpus(const std::string& text);

// What `asked` (process, runc, crun or auto) comes to. `why_no_containers`: empty where there may be containers. Root's
// tasks are in containers unless the operator says otherwise in so many words: a runc that is missing must not make
// every job root.
Result<std::string> ChooseRuntime(const std::string& asked, bool root, const std::string& why_no_containers);

// The agent's own name for its machine: told apart by machine and state folder.
std::string MachineIdOf(const std::string& state_dir);

// What the options say of devices.
DeviceChoice DeviceChoiceOf(const AgentOptions& options);

// A program's path: the programs of a node lie in one folder.
std::string BesideShim(const AgentOptions& options, const char* program);

}  // namespace glim::nodeagent
