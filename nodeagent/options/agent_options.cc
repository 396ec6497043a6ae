#include "nodeagent/options/agent_options.h"

#include <limits.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "nodeagent/options/container_options.h"
#include "nodeagent/options/health_option.h"
#include "nodeagent/options/sdk_folder.h"
#include "nodeagent/options/secrets_folder.h"
#include "nodeagent/options/task_user_option.h"
#include "nodeagent/os/child_work.h"
#include "nodeagent/os/mount_calls.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/task/task_socket.h"
#include "nodeagent/task/user_paths.h"
#include "sdk/base/host_port.h"
#include "sdk/base/printable.h"
#include "sdk/io/folders.h"
#include "sdk/io/read_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::chrono::seconds kVersionLimit{5};  // for runc to tell its version
constexpr std::size_t kNameBytesMax = 63;
constexpr unsigned long kGpusMax = 64;
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

std::string RuntimeProgram(const AgentOptions& options) { return options.runtime == "crun" ? "crun" : "runc"; }

bool IsFolderPath(const std::string& path) {
  return path.size() > 1 && path[0] == '/' && path.back() != '/' && path.find("/../") == std::string::npos &&
         path.find("//") == std::string::npos;
}

// Where the folders' links lead, by name. The storage behind one may hang, and the agent must start all the same: that
// one is left as it is named. FAILED_PRECONDITION: nobody can look.
Result<std::map<std::string, std::string>> RealFolders(const AgentOptions& options) {
  PathOrder order;
  for (const std::string& folder : options.mount_allow) order.wishes.push_back({folder, folder, false});
  std::map<std::string, std::string> real;
  while (!order.wishes.empty()) {
    boost::asio::io_context io;
    ChildWork work(io);
    PathRecords records;
    const auto look = work.Start({BesideShim(options, "glim-paths"), "job"}, ToJson(order),
                                 std::chrono::seconds(options.path_seconds), [&](const ChildWork::Outcome& outcome) {
                                   records = ReadPathRecords(order, outcome.output);
                                   io.stop();
                                 });
    if (!look.ok()) return look.status();
    io.run();
    for (const auto& [folder, answer] : records.answers) real[folder] = answer.real;
    if (!records.looking_at) break;
    LogWarning("event=mount_allow_hangs folder={} note=\"its links are not followed\"",
               Quoted(records.looking_at->path));
    std::erase_if(order.wishes, [&](const PathWish& wish) {
      return wish.path == records.looking_at->path || records.answers.contains(wish.field);
    });
  }
  return real;
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
  }
  const Result<std::map<std::string, std::string>> real = RealFolders(*options);
  if (!real.ok()) return real.status();
  const std::vector<std::string> defaults = AgentOptions().mount_allow;
  for (const auto& [folder, target] : *real) {
    const bool by_default = std::find(defaults.begin(), defaults.end(), folder) != defaults.end();
    if (target.empty() && !by_default) {
      LogWarning("event=mount_allow_missing folder={} note=\"there is no such folder here now: is it mounted?\"",
                 Quoted(folder));
    }
    std::vector<std::string>& all = options->mount_allow;
    if (!target.empty() && std::find(all.begin(), all.end(), target) == all.end()) all.push_back(target);
  }
  if (options->mount_allow.size() <= kMountAllowMax) return Status::Ok();
  return InvalidArgument("--mount-allow",
                         "--mount-allow names " + std::to_string(options->mount_allow.size()) +
                             " folders, those that links lead to included",
                         "name " + std::to_string(kMountAllowMax) + " at most: a folder gives all below it");
}

// Root's tasks are in groups in both runtimes.
Status CompleteGroups(AgentOptions* options) {
  if (options->cgroup_parent.empty()) {
    options->cgroup_parent = "/glim/" + options->machine_id.substr(options->machine_id.rfind('-') + 1);
  }
  if (IsFolderPath(options->cgroup_parent)) return Status::Ok();
  return InvalidArgument("--cgroup-parent", "--cgroup-parent \"" + options->cgroup_parent + "\" is no absolute path",
                         "for example /glim");
}

// crun takes control groups of version 2, or of version 1, but no mixture of both; runc takes that, too.
bool AreGroupsMixed() {
  struct statfs info {};
  return ::statfs("/sys/fs/cgroup", &info) == 0 && info.f_type != CGROUP2_SUPER_MAGIC &&
         ::statfs("/sys/fs/cgroup/unified", &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
}

// Containers need root (control groups, mounts) and a runc or crun that works. Empty: they can be made. Not OK: nobody
// can say now.
Result<std::string> WhyNoContainers(const AgentOptions& options) {
  if (options.runtime == "process") return std::string("nobody asks for them");
  if (::geteuid() != 0) return std::string("only root may make containers");
  if (const std::string why = WhyNoMountCalls(); !why.empty()) {
    return Status(StatusCode::kFailedPrecondition, "--runtime " + options.runtime +
                                                       ": this kernel does not mount by descriptor (" + why +
                                                       "), and without that users could exchange what they name")
        .WithField("--runtime")
        .WithFix(
            "start Linux 5.12 or newer, and allow the agent the call; --runtime process runs jobs without "
            "containers, and each job is then root on this node");
  }
  if (options.runc.empty()) return "there is no program " + RuntimeProgram(options) + " in the usual folders";
  if (::access(options.runc.c_str(), X_OK) != 0) return "there is no program " + options.runc;
  const Result<int> code = RunProgramFor(kVersionLimit, {options.runc, "--version"}, "/dev/null");
  if (!code.ok() && code.status().code() == StatusCode::kDeadlineExceeded) {
    return Status(StatusCode::kDeadlineExceeded, "--runtime " + options.runtime + ": " + options.runc +
                                                     " --version did not end within " +
                                                     std::to_string(kVersionLimit.count()) + " s")
        .WithField("--runc")
        .WithFix("try it by hand; name a " + RuntimeProgram(options) + " that works with --runc");
  }
  if (!code.ok()) return code.status().message();
  if (*code != 0) return options.runc + " --version ends with status " + std::to_string(*code);
  if (options.runtime != "crun" || !AreGroupsMixed()) return std::string();
  return std::string("crun does not take control groups of versions 1 and 2 side by side, which this machine has");
}

// Where the operator named the program, that is what there is to mend.
Status AboutRunc(const Status& refusal, bool runc_named) {
  if (!runc_named || ::geteuid() != 0) return refusal;
  return Status(refusal.code(), refusal.message()).WithField("--runc").WithFix(refusal.fix());
}

Status CompleteRuntime(AgentOptions* options) {
  const bool runc_named = !options->runc.empty();
  if (!runc_named) options->runc = FindProgram(RuntimeProgram(*options));
  const Result<std::string> why_none = WhyNoContainers(*options);
  if (!why_none.ok()) return why_none.status();
  Result<std::string> runtime = ChooseRuntime(options->runtime, ::geteuid() == 0, *why_none);
  if (!runtime.ok()) return AboutRunc(runtime.status(), runc_named);
  options->runtime = std::move(runtime).value();
  const UserOptions users{options->in_containers(), options->any_user, options->task_user_text};
  if (Status status = CompleteUsers(users, &options->task_user); !status.ok()) return status;
  if (Status status = CompleteGroups(options); !status.ok()) return status;
  if (Status status = CompleteContainers({options->in_containers(), options->tmp_bytes_max, &options->user_namespace,
                                          &options->reserve_memory_bytes, DeviceChoiceOf(*options)});
      !status.ok())
    return status;
  return options->in_containers() ? CompleteMountAllow(options) : Status::Ok();
}

// Whoever listens resolves the host. Peers are told what it listens on, so that must be one address.
Status CheckListen(const std::string& option, const std::string& listen) {
  const Result<HostPort> address = ParseHostPort(option, listen, PortZero::kTaken);
  if (!address.ok()) return address.status();
  if (address->host == "0.0.0.0" || address->host == "::") {
    return InvalidArgument(option, option + " \"" + listen + "\" is no address that other nodes could be told",
                           "name the one that they reach this node by");
  }
  return Status::Ok();
}

Status CompleteReplica(AgentOptions* options) {
  const std::pair<const char*, const std::string&> words[] = {{"--replica-tls", options->replica_tls},
                                                              {"--replica-device", options->replica_device}};
  for (const auto& [option, word] : words) {
    if (word.empty() || IsPrintable(word, 1024)) continue;
    return InvalidArgument(option, std::string(option) + " must be printable ASCII characters without blanks");
  }
  const std::pair<const char*, const std::string&> files[] = {{"--replica-state", options->replica_state},
                                                              {"--replica-keys", options->replica_keys}};
  for (const auto& [option, path] : files) {
    if (path.empty() || path[0] == '/') continue;
    return InvalidArgument(option, std::string(option) + ": " + path + " is no absolute path");
  }
  if (options->replica_state.empty() == options->replica_keys.empty()) return Status::Ok();
  return InvalidArgument(options->replica_state.empty() ? "--replica-state" : "--replica-keys",
                         "--replica-state and --replica-keys belong together",
                         "give both files that this node's glim-replica is started with, or neither");
}

}  // namespace

Status CompleteHooks(const AgentOptions& o) {
  for (const auto& [option, program] : {std::pair("--prolog", o.prolog), std::pair("--epilog", o.epilog)}) {
    struct stat info {};
    const bool there =
        ::stat(program.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(program.c_str(), X_OK) == 0;
    if (program.empty() || (program[0] == '/' && there)) continue;
    return InvalidArgument(option, program + " is no program that can be run",
                           "give the absolute path of an executable file");
  }
  if (o.hook_seconds >= 1 && o.hook_seconds <= 3600) return Status::Ok();
  return InvalidArgument("--hook-seconds", std::to_string(o.hook_seconds) + " is out of range", "choose 1 to 3600");
}

Status CompleteOptions(AgentOptions* options) {
  if (Status status = CompletePaths(options); !status.ok()) return status;
  if (options->scheduler.empty()) options->scheduler = kSchedulerByDefault;
  options->secrets_dir = SecretsFolder(options->state_dir);
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
      CheckOneOf("--runtime", o.runtime, {"auto", "crun", "process", "runc"}),
  };
  for (const Status& status : checks) {
    if (!status.ok()) return status;
  }
  if (Status status = CompleteHealth(o.health_kmsg, o.health_root, &options->health); !status.ok()) return status;
  if (!IsNodeName(o.node_name)) {
    return InvalidArgument("--node-name", "--node-name \"" + o.node_name + "\" is not a node's name",
                           "use a-z, 0-9, '.' and '-'");
  }
  if (!IsPrintable(o.machine_id, 128)) {
    return InvalidArgument("--machine-id", "--machine-id must be 1 to 128 printable ASCII characters without blanks");
  }
  if (Status status = CheckHost("--address", o.address); !status.ok()) return status;
  if (Status status = CheckTarget("--scheduler", o.scheduler); !status.ok()) return status;
  if (o.log_limits.file_bytes_max < 4096 || o.log_limits.files_max < 2 || o.log_limits.files_max > 1000) {
    return InvalidArgument("--log-file-bytes", "a rank's log needs 2 to 1000 files of at least 4096 bytes");
  }
  if (!o.saves_listen.empty() && o.saves_listen != "none") {
    if (Status status = CheckListen("--saves-listen", o.saves_listen); !status.ok()) return status;
  }
  if (o.metrics != "none") {
    if (Status status = CheckTarget("--metrics", o.metrics); !status.ok()) return status;
    if (!IsLoopbackTarget(o.metrics) || o.metrics.starts_with("unix:")) {
      return InvalidArgument("--metrics", "--metrics " + o.metrics + " is no address of this machine alone",
                             "write it like 127.0.0.1:7606: who reads it is not asked for a token");
    }
  }
  if (Status status = CompleteReplica(options); !status.ok()) return status;
  if (Status status = CompleteHooks(o); !status.ok()) return status;
  return CompleteRuntime(options);
}

Status CheckGpus(const std::string& text) {
  const bool is_number = !text.empty() && text.size() <= 2 &&
                         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  if (text == "auto" || (is_number && std::stoul(text) <= kGpusMax)) return Status::Ok();
  return InvalidArgument("", "'" + Printable(text) + "' is no number of GPUs",
                         "use 0 to " + std::to_string(kGpusMax) + ", or auto: what is there");
}

std::optional<std::uint32_t> WantedGpus(const std::string& text) {
  if (text == "auto") return std::nullopt;
  return static_cast<std::uint32_t>(std::stoul(text));
}

std::string MachineIdOf(const std::string& state_dir) { return MachineId(state_dir); }

Result<std::string> ChooseRuntime(const std::string& asked, bool root, const std::string& why_no_containers) {
  if (asked == "process") return asked;
  if (why_no_containers.empty()) return asked == "crun" ? asked : std::string("runc");
  if (asked == "auto" && !root) return std::string("process");
  if (!root) {
    return InvalidArgument("--runtime", "--runtime " + asked + ": " + why_no_containers,
                           "run the agent as root, or use --runtime process");
  }
  const std::string program = asked == "crun" ? "crun" : "runc", other = asked == "crun" ? "runc" : "crun";
  return InvalidArgument(
      "--runtime", "--runtime " + asked + ": " + why_no_containers,
      "install " + program + ", or name it with --runc, or use --runtime " + other +
          "; --runtime process runs jobs without containers, and each job is then root on this node");
}

DeviceChoice DeviceChoiceOf(const AgentOptions& options) {
  DeviceChoice choice{options.devices, options.infiniband, options.cdi_writable, options.simulated_gpus,
                      options.sys_root};
  while (choice.root.ends_with('/')) choice.root.pop_back();
  return choice;
}

std::string BesideShim(const AgentOptions& options, const char* program) {
  return options.shim.substr(0, options.shim.rfind('/')) + "/" + program;
}

}  // namespace glim::nodeagent
