#include "nodeagent/launch/task_variables.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "nodeagent/confinement/runc_confinement.h"
#include "nodeagent/launch/node_folders.h"
#include "nodeagent/launch/task_secrets.h"
#include "nodeagent/options/sdk_folder.h"
#include "nodeagent/task/task_files.h"
#include "sdk/base/system_path.h"

namespace glim::nodeagent {
namespace {

// The interface that has this numeric address; empty for loopback and for what is none of ours.
std::string InterfaceOf(const std::string& address) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return "";
  std::string name;
  for (const ifaddrs* entry = list; entry != nullptr && name.empty(); entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    char text[NI_MAXHOST];
    if (::getnameinfo(entry->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0 && address == text) {
      name = entry->ifa_name;
    }
  }
  ::freeifaddrs(list);
  return name;
}

// The ranks of several nodes must go on from the same save: none of them may choose another in a folder of its own.
bool IsLocalToOneOfMany(const v1::TaskLaunch& launch, const TaskVariables& variables) {
  const auto nodes = variables.find(NameOf(TaskVariable::kNodes));
  return launch.checkpoint_dir().empty() && (nodes == variables.end() || nodes->second != "1");
}

NodeEnvironment NodeEnvironmentOf(const AgentOptions& options, const TaskKey& key, const TaskPaths& paths,
                                  const v1::TaskLaunch& launch, const std::string& workdir) {
  NodeEnvironment node;
  node.socket = paths.socket();
  node.hosts_file = paths.hosts();
  node.zones_file = paths.zones();
  node.workdir = workdir;
  node.checkpoint_dir = CheckpointFolder(options, key, launch);
  // Where saves lie in this node's own folder, the agent alone knows the path of the one that the task goes on from.
  if (launch.has_base()) node.resume_path = BasePath(node.checkpoint_dir, launch.base());
  node.gpus_simulated = options.simulated_gpus && options.gpus > 0;
  if (!options.sdk.empty()) node.sdk = options.in_containers() ? kSdkTarget : options.sdk;
  TellSecrets(options, key, launch, &node);
  if (launch.per_gpu()) node.local_ranks = launch.ranks();
  node.hfreduce_device = options.hfreduce_device;
  node.hfreduce_service_level = options.hfreduce_service_level;
  node.replica_tls = options.replica_tls;
  node.replica_device = options.replica_device;
  node.replica_service_level = options.replica_service_level;
  return node;
}

void AppendFolder(TaskVariable variable, const std::string& folder, TaskVariables* variables) {
  std::string& list = (*variables)[NameOf(variable)];
  if (folder.empty() || (":" + list + ":").find(":" + folder + ":") != std::string::npos) return;
  list += (list.empty() ? "" : ":") + folder;
}

// `sdk`: as the task sees it.
Status AppendSdk(const AgentOptions& options, const std::string& sdk, TaskVariables* variables) {
  if (sdk.empty()) {
    AppendFolder(TaskVariable::kPath, std::filesystem::path(options.shim).parent_path().string(), variables);
    return Status::Ok();
  }
  if (const std::string missing = MissingInSdk(options.sdk); !missing.empty()) {
    return Status(StatusCode::kFailedPrecondition, "this node's SDK is gone: there is no " + missing)
        .WithFix("install it again, or restart the node's agent with another --sdk");
  }
  AppendFolder(TaskVariable::kPythonPath, sdk + "/python", variables);
  AppendFolder(TaskVariable::kPath, sdk + "/bin", variables);
  return Status::Ok();
}

}  // namespace

TaskVariables BaseVariables(const std::string& address) {
  TaskVariables variables;
  if (const std::string interface = InterfaceOf(address); !interface.empty()) {
    variables[NameOf(TaskVariable::kGlooInterface)] = interface;
    variables[NameOf(TaskVariable::kNcclInterface)] = interface;
  }
  for (const TaskVariable inherited :
       {TaskVariable::kHome, TaskVariable::kUser, TaskVariable::kLang, TaskVariable::kLcAll, TaskVariable::kTimeZone}) {
    if (const char* value = std::getenv(NameOf(inherited))) variables[NameOf(inherited)] = value;
  }
  // Not the agent's own: it tells of the operator's set-up, and names folders that a job's mounts may fill.
  variables.emplace(NameOf(TaskVariable::kPath), kSystemPath);
  // A service often starts without these two, and many programs fail without them.
  if (const passwd* user = ::getpwuid(::geteuid())) {
    variables.emplace(NameOf(TaskVariable::kHome), user->pw_dir);
    variables.emplace(NameOf(TaskVariable::kUser), user->pw_name);
  }
  variables.emplace(NameOf(TaskVariable::kHome), "/");
  return variables;
}

std::string HomeOf(const AgentOptions& options, const TaskVariables& base) {
  // A container has no home of its own; its /tmp is there, writable and its own.
  return options.in_containers() ? "/tmp" : base.at(NameOf(TaskVariable::kHome));
}

Result<TaskVariables> PlanVariables(const AgentOptions& options, const TaskVariables& base, const TaskKey& key,
                                    const std::string& task_folder, const v1::TaskLaunch& launch,
                                    const std::string& workdir) {
  TaskVariables variables = base;
  variables[NameOf(TaskVariable::kHome)] = HomeOf(options, base);
  // There the agent's own user is not the task's.
  if (options.in_containers() && !launch.user().empty()) variables[NameOf(TaskVariable::kUser)] = launch.user();
  for (const v1::EnvVar& var : launch.env()) variables[var.name()] = var.value();
  // A log is a pipe: Python would keep lines to itself, and lose them when it is killed.
  variables.emplace(NameOf(TaskVariable::kPythonUnbuffered), "1");
  if (launch.gpus() > 0) variables.emplace(NameOf(TaskVariable::kCudaDeviceOrder), "PCI_BUS_ID");
  NodeEnvironment node = NodeEnvironmentOf(options, key, TaskPaths(task_folder), launch, workdir);
  node.checkpoint_local = IsLocalToOneOfMany(launch, variables);
  if (Status status = AppendSdk(options, node.sdk, &variables); !status.ok()) return status;
  AddVariables(node, &variables);
  return variables;
}

TaskVariables RankVariables(const v1::TaskLaunch& launch, std::uint32_t local_rank) {
  RankEnvironment rank{launch.first_rank() + local_rank, {}};
  if (launch.per_gpu()) rank.local_rank = local_rank;
  TaskVariables variables;
  AddVariables(rank, &variables);
  return variables;
}

}  // namespace glim::nodeagent
