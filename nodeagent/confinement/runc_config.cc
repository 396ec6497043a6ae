#include "nodeagent/confinement/runc_config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "nodeagent/confinement/seccomp_profile.h"
#include "nodeagent/os/user_namespace.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::int64_t kCpuPeriodUs = 100'000;
constexpr std::size_t kMappingsMax = 150;  // the kernel takes 340, and a page of text

json Filesystem(const char* target, const char* type, const json& options) {
  return {{"destination", target}, {"type", type}, {"source", type}, {"options", options}};
}

json Mounts(const ContainerPlan& plan) {
  const std::string shm = plan.limits.shm_bytes > 0 ? "size=" + std::to_string(plan.limits.shm_bytes) : "size=50%";
  json all = json::array({
      Filesystem("/proc", "proc", {"nosuid", "noexec", "nodev"}),
      Filesystem("/dev", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}),
      Filesystem("/dev/pts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
      Filesystem("/dev/shm", "tmpfs", {"nosuid", "noexec", "nodev", "mode=1777", shm}),
      Filesystem("/dev/mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
  });
  // No flag is said: what the node has set there cannot be taken off in a user namespace, and need not be.
  const auto bind = [](const std::string& source, const std::string& target) {
    return json{{"destination", target}, {"type", "bind"}, {"source", source}, {"options", json::array({"bind"})}};
  };
  for (const DeviceNode& device : plan.devices) all.push_back(bind(device.source, device.path));
  if (!plan.huge_pages.empty()) all.push_back(bind(plan.huge_pages, "/dev/hugepages"));
  return all;
}

// The runtimes add the usual devices (null, zero, full, random, urandom, tty, ptmx, pts) themselves, and make the rules
// of version 1 or the program of version 2 of the list.
json DeviceRules(const std::vector<DeviceNode>& devices) {
  json rules = json::array();
  rules.push_back({{"allow", false}, {"access", "rwm"}});
  for (const DeviceNode& device : devices) {
    rules.push_back({{"allow", true},
                     {"type", std::string(1, device.type)},
                     {"major", device.major},
                     {"minor", device.minor},
                     {"access", device.access}});
  }
  return rules;
}

json Resources(const ContainerPlan& plan) {
  const TaskLimits& limits = plan.limits;
  json resources = {{"devices", DeviceRules(plan.devices)}};
  if (limits.memory_bytes > 0) resources["memory"] = {{"limit", limits.memory_bytes}};
  // "swap" is the two together: no more by swapping.
  if (limits.memory_bytes > 0 && plan.swap_counts) resources["memory"]["swap"] = limits.memory_bytes;
  if (limits.cpu_millis > 0) {
    resources["cpu"] = {{"period", kCpuPeriodUs}, {"quota", limits.cpu_millis * kCpuPeriodUs / 1000}};
  }
  if (limits.pids > 0) resources["pids"] = {{"limit", limits.pids}};
  // A rank that lost a helper would else wait for it, and its gang for the rank.
  if (plan.ends_together) resources["unified"] = {{"memory.oom.group", "1"}};
  return resources;
}

json Limit(const char* type, std::uint64_t amount) { return {{"type", type}, {"hard", amount}, {"soft", amount}}; }

json Process(const ContainerPlan& plan) {
  const json none = json::array();
  return {{"terminal", false},
          {"user", {{"uid", plan.user.uid}, {"gid", plan.user.gid}, {"additionalGids", plan.user.groups}}},
          {"args", plan.args},
          {"env", plan.env},
          {"cwd", "/"},
          {"capabilities",
           {{"bounding", none}, {"effective", none}, {"inheritable", none}, {"permitted", none}, {"ambient", none}}},
          {"rlimits",
           {Limit("RLIMIT_MEMLOCK", plan.memlock_bytes), Limit("RLIMIT_NOFILE", plan.files), Limit("RLIMIT_CORE", 0)}},
          {"oomScoreAdj", plan.oom_score},
          {"noNewPrivileges", true}};
}

// What shows keys and passwords of the machine, even where the task's user could read them; what shows what other
// programs do; what steers the machine. Those of /proc and /sys are what container engines mask.
json MaskedPaths() {
  return {"/etc/shadow",
          "/etc/shadow-",
          "/etc/gshadow",
          "/etc/gshadow-",
          "/etc/glim",
          "/etc/ssh",
          "/etc/ssl/private",
          "/etc/sudoers",
          "/etc/sudoers.d",
          "/etc/krb5.keytab",
          "/etc/wireguard",
          "/proc/acpi",
          "/proc/asound",
          "/proc/interrupts",
          "/proc/kcore",
          "/proc/keys",
          "/proc/latency_stats",
          "/proc/sched_debug",
          "/proc/scsi",
          "/proc/timer_list",
          "/proc/timer_stats",
          "/sys/devices/virtual/powercap",
          "/sys/firmware",
          "/sys/kernel/debug",
          "/sys/kernel/security",
          "/sys/kernel/tracing"};
}

json Namespaces(bool user) {
  json all = json::array();
  for (const char* type : {"pid", "ipc", "uts", "mount", "cgroup"}) all.push_back({{"type", type}});
  if (user) all.push_back({{"type", "user"}});
  return all;
}

json Mapping(std::uint32_t inside, std::uint32_t outside, std::size_t size) {
  return {{"containerID", inside}, {"hostID", outside}, {"size", size}};
}

// Runs of ids that stand for themselves, and the one that stands for root.
json Mappings(std::vector<std::uint32_t> ids) {
  json all = json::array({Mapping(0, kRootInside, 1)});
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (std::size_t i = 0, run = 1; i < ids.size(); i += run) {
    for (run = 1; i + run < ids.size() && ids[i + run] == ids[i] + run;) ++run;
    all.push_back(Mapping(ids[i], ids[i], run));
  }
  return all;
}

json GroupMappings(const TaskUser& user) {
  std::vector<std::uint32_t> groups(user.groups.begin(), user.groups.end());
  groups.push_back(user.gid);
  return Mappings(std::move(groups));
}

}  // namespace

Status CheckMapping(const TaskUser& user) {
  const auto is_root_inside = [](gid_t id) { return id == kRootInside; };
  if (is_root_inside(user.uid) || is_root_inside(user.gid) ||
      std::any_of(user.groups.begin(), user.groups.end(), is_root_inside)) {
    return InvalidArgument("user",
                           "the id " + std::to_string(kRootInside) + " stands for root in this node's containers",
                           "give the user another one");
  }
  if (GroupMappings(user).size() <= kMappingsMax) return Status::Ok();
  return Status(StatusCode::kFailedPrecondition,
                "the user is in more groups than a user namespace takes: " + std::to_string(user.groups.size()))
      .WithField("user")
      .WithFix("register fewer groups, or run the node's agent with --user-namespace no");
}

std::string RuncConfig(const ContainerPlan& plan) {
  const json read_only = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};
  json config = {{"ociVersion", "1.0.2"},
                 {"process", Process(plan)},
                 {"root", {{"path", plan.rootfs}, {"readonly", !plan.writable_root}}},
                 {"hostname", plan.hostname},
                 {"mounts", Mounts(plan)},
                 {"linux",
                  {{"cgroupsPath", plan.cgroup},
                   {"resources", Resources(plan)},
                   {"namespaces", Namespaces(plan.user_namespace)},
                   {"maskedPaths", MaskedPaths()},
                   {"readonlyPaths", read_only},
                   // Of all mounts, also those below "/", which systemd shares: nothing that is mounted for
                   // the container is then mounted on the node.
                   {"rootfsPropagation", "rslave"},
                   {"seccomp", SeccompProfile(plan.seccomp)}}}};
  if (plan.user_namespace) {
    config["linux"]["uidMappings"] = Mappings({plan.user.uid});
    config["linux"]["gidMappings"] = GroupMappings(plan.user);
  }
  return config.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace glim::nodeagent
