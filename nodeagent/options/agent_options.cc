#include "nodeagent/options/agent_options.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <set>

#include "nodeagent/options/sdk_folder.h"
#include "nodeagent/task/task_socket.h"
#include "sdk/checkpoint/replica/token.h"
#include "sdk/io/folders.h"
#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kNameBytesMax = 63;
constexpr std::size_t kMountAllowMax = 64;  // of which a Hello tells

bool IsName(const std::string& text) {
  return !text.empty() && text.size() <= kNameBytesMax && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
}

bool IsNodeName(const std::string& text) {
  return IsName(text) &&
         std::none_of(text.begin(), text.end(), [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; });
}

bool IsPrintable(const std::string& text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

Status CheckName(const std::string& option, const std::string& value, bool may_be_empty) {
  if (IsName(value) || (may_be_empty && value.empty())) return Status::Ok();
  return InvalidArgument(option, option + " \"" + value + "\" is not a name",
                         "use 1 to 63 letters, digits, '-', '_' and '.'");
}

Status CheckOneOf(const std::string& option, const std::string& value, const std::set<std::string>& allowed) {
  if (allowed.contains(value)) return Status::Ok();
  std::string list;
  for (const std::string& word : allowed) list += (list.empty() ? "" : ", ") + word;
  return InvalidArgument(option, option + " \"" + value + "\" is unknown", "use one of " + list);
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  if (::gethostname(name, sizeof name - 1) != 0) return "";
  std::string text = name;
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The machine and the state folder (as a hash, FNV-1a), so that two agents on one machine, with folders of their own
// and by mistake the same name, are told apart and the second is refused.
std::string MachineId(const std::string& state_dir) {
  const Result<std::string> file = ReadFile("/etc/machine-id", 256);
  std::string id = file.ok() ? *file : "";
  std::erase_if(id, [](unsigned char c) { return std::isxdigit(c) == 0; });
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : state_dir) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return (id.empty() ? HostName() : id) + "-" + digits;
}

Status CompletePaths(AgentOptions* options) {
  std::error_code error;
  if (options->state_dir.empty()) {
    return InvalidArgument("--state-dir", "--state-dir is missing", "name a folder for the agent's own use");
  }
  if (Status status = MakePrivateFolder(std::filesystem::absolute(options->state_dir, error).string()); !status.ok()) {
    return status;
  }
  options->state_dir = std::filesystem::canonical(options->state_dir, error).string();
  // The longest that real ids make it; each task's own is checked again.
  if (Status status = CheckSocketPath(options->state_dir + "/tasks/99999999.9999.9999/run/socket"); !status.ok()) {
    return status;
  }
  const std::filesystem::path programs = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  if (options->shim.empty()) options->shim = (programs / "glim-shim").string();
  options->shim = std::filesystem::absolute(options->shim, error).string();
  if (::access(options->shim.c_str(), X_OK) != 0) {
    return InvalidArgument("--shim", "there is no program " + options->shim, "give glim-shim's path with --shim");
  }
  return CompleteSdk(programs.string(), &options->sdk);
}

std::string FindProgram(const std::string& name) {
  for (const char* folder : {"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/"}) {
    if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

bool IsFolderPath(const std::string& path) {
  return path.size() > 1 && path[0] == '/' && path.back() != '/' && path.find("/../") == std::string::npos &&
         path.find("//") == std::string::npos;
}

Status ParseTaskUser(const std::string& text, TaskUser* user) {
  unsigned uid = 0, gid = 0;
  int end = 0;
  if (std::sscanf(text.c_str(), "%9u:%9u%n", &uid, &gid, &end) != 2 || static_cast<std::size_t>(end) != text.size()) {
    return InvalidArgument("--task-user", "--task-user \"" + text + "\" is not UID:GID", "for example 1000:1000");
  }
  *user = {uid, gid};
  return Status::Ok();
}

// Jobs' paths are compared after their links are followed, so a folder that is a link needs what it leads to beside it.
// The folder itself stays: the scheduler, which sees no links, goes by the names that jobs use.
Status CompleteMountAllow(AgentOptions* options) {
  const std::vector<std::string> named = options->mount_allow;
  for (const std::string& folder : named) {
    if (folder != "/" && !IsFolderPath(folder)) {
      return InvalidArgument("--mount-allow", "--mount-allow \"" + folder + "\" is no absolute path",
                             "name folders like /data");
    }
    std::error_code error;
    const std::string real = std::filesystem::canonical(folder, error).string();
    std::vector<std::string>& all = options->mount_allow;
    if (!error && std::find(all.begin(), all.end(), real) == all.end()) all.push_back(real);
  }
  if (options->mount_allow.size() <= kMountAllowMax) return Status::Ok();
  return InvalidArgument("--mount-allow",
                         "--mount-allow names " + std::to_string(options->mount_allow.size()) +
                             " folders, those that links lead to included",
                         "name " + std::to_string(kMountAllowMax) + " at most: a folder gives all below it");
}

// Containers need root (control groups, mounts) and runc. `auto` takes what there is and says so in the node's record.
Status CompleteRuntime(AgentOptions* options) {
  if (options->runc.empty()) options->runc = FindProgram("runc");
  const bool possible = ::geteuid() == 0 && !options->runc.empty() && ::access(options->runc.c_str(), X_OK) == 0;
  if (options->runtime == "auto") options->runtime = possible ? "runc" : "process";
  if (Status status = ParseTaskUser(options->task_user_text, &options->task_user); !status.ok()) return status;
  if (options->runtime == "process") {
    if (options->task_user_text == "0:0") return Status::Ok();
    return InvalidArgument("--task-user", "--task-user: plain processes run as the agent's own user",
                           "use --runtime runc, or leave it out");
  }
  if (!possible) {
    return InvalidArgument(
        "--runtime",
        ::geteuid() == 0 ? "--runtime runc: there is no program runc" : "--runtime runc: only root may make containers",
        ::geteuid() == 0 ? "install runc, or name it with --runc" : "run the agent as root, or use --runtime process");
  }
  if (options->cgroup_parent.empty()) {
    options->cgroup_parent = "/glim/" + options->machine_id.substr(options->machine_id.rfind('-') + 1);
  }
  if (!IsFolderPath(options->cgroup_parent)) {
    return InvalidArgument("--cgroup-parent", "--cgroup-parent \"" + options->cgroup_parent + "\" is no absolute path",
                           "for example /glim");
  }
  return CompleteMountAllow(options);
}

// Whoever listens resolves the host. Peers are told what it listens on, so that must be one address.
Status CheckListen(const std::string& option, const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  const std::string host = colon == std::string::npos ? "" : listen.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : listen.substr(colon + 1);
  const bool is_port = !port.empty() && port.size() <= 5 &&
                       std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c) != 0; }) &&
                       std::stoul(port) <= 65535;
  if (!IsPrintable(host, 253) || !is_port) {
    return InvalidArgument(option, option + " \"" + listen + "\" is no address", "use HOST:PORT; port 0: a free one");
  }
  if (host == "0.0.0.0" || host == "*" || host == "::" || host == "[::]") {
    return InvalidArgument(option, option + " \"" + listen + "\" is no address that other nodes could be told",
                           "name the one that they reach this node by");
  }
  return Status::Ok();
}

Status ReadReplicaSecret(AgentOptions* options) {
  const std::string option = "--replica-secret-file";
  if (options->replica_secret_file.empty()) {
    if (options->replica_memory_bytes == 0) return Status::Ok();
    return InvalidArgument(option, "--replica-memory needs the cluster's secret", "name its file with " + option);
  }
  std::error_code error;
  options->replica_secret_file = std::filesystem::absolute(options->replica_secret_file, error).string();
  Result<std::string> secret = checkpoint::ReadSecret(options->replica_secret_file);
  if (!secret.ok()) {
    const Status& why = secret.status();
    return Status(why.code(), option + ": " + why.message()).WithField(option).WithFix(why.fix());
  }
  options->replica_secret = std::move(secret).value();
  return Status::Ok();
}

Status CompleteReplica(AgentOptions* options) {
  if (Status status = ReadReplicaSecret(options); !status.ok()) return status;
  const std::pair<const char*, const std::string&> words[] = {{"--replica-tls", options->replica_tls},
                                                              {"--replica-device", options->replica_device}};
  for (const auto& [option, word] : words) {
    if (word.empty() || IsPrintable(word, 1024)) continue;
    return InvalidArgument(option, std::string(option) + " must be printable ASCII characters without blanks");
  }
  if (options->replica_listen.empty()) options->replica_listen = options->address + ":0";
  if (Status status = CheckListen("--replica-listen", options->replica_listen); !status.ok()) return status;
  if (options->replica_program.empty()) {
    options->replica_program = BesideShim(*options, "glim-replica");
  }
  if (options->replica_memory_bytes > 0 && ::access(options->replica_program.c_str(), X_OK) != 0) {
    return InvalidArgument("--replica-memory", "--replica-memory: there is no program " + options->replica_program,
                           "build Glim where libucx-dev is installed");
  }
  return Status::Ok();
}

}  // namespace

Status CompleteOptions(AgentOptions* options) {
  if (Status status = CompletePaths(options); !status.ok()) return status;
  if (options->node_name.empty()) options->node_name = HostName();
  if (options->machine_id.empty()) options->machine_id = MachineId(options->state_dir);
  const AgentOptions& o = *options;
  const Status checks[] = {
      CheckName("--cluster-id", o.cluster_id, true),
      CheckName("--node-name", o.node_name, false),
      CheckName("--pool", o.pool, false),
      CheckName("--zone", o.zone, false),
      CheckName("--leaf", o.leaf, false),
      CheckName("--gpu-type", o.gpu_type, true),
      CheckOneOf("--nvlink", o.nvlink, {"none", "pair", "full"}),
      CheckOneOf("--nic", o.nic, {"infiniband", "roce", "ethernet"}),
      CheckOneOf("--runtime", o.runtime, {"auto", "process", "runc"}),
  };
  for (const Status& status : checks) {
    if (!status.ok()) return status;
  }
  if (!IsNodeName(o.node_name)) {
    return InvalidArgument("--node-name", "--node-name \"" + o.node_name + "\" is not a node's name",
                           "use a-z, 0-9, '.' and '-'");
  }
  if (!IsPrintable(o.machine_id, 128)) {
    return InvalidArgument("--machine-id", "--machine-id must be 1 to 128 printable ASCII characters without blanks");
  }
  if (!IsPrintable(o.address, 253)) {
    return InvalidArgument("--address", "--address must be a host name or an IP address that other nodes can reach");
  }
  const std::size_t colon = o.scheduler.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == o.scheduler.size()) {
    return InvalidArgument("--scheduler", "--scheduler \"" + o.scheduler + "\" is no address", "use HOST:PORT");
  }
  if (o.log_limits.file_bytes_max < 4096 || o.log_limits.files_max < 2 || o.log_limits.files_max > 1000) {
    return InvalidArgument("--log-file-bytes", "a rank's log needs 2 to 1000 files of at least 4096 bytes");
  }
  if (!o.saves_listen.empty() && o.saves_listen != "none") {
    if (Status status = CheckListen("--saves-listen", o.saves_listen); !status.ok()) return status;
  }
  if (Status status = CompleteReplica(options); !status.ok()) return status;
  return CompleteRuntime(options);
}

std::string BesideShim(const AgentOptions& options, const char* program) {
  return options.shim.substr(0, options.shim.rfind('/')) + "/" + program;
}

}  // namespace glim::nodeagent
