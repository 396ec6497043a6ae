#include "nodeagent/confinement/runc_config.h"

#include <nlohmann/json.hpp>

#include "nodeagent/confinement/seccomp_profile.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;

constexpr std::int64_t kCpuPeriodUs = 100'000;

json BindMount(const Bind& bind) {
  // `rbind`: what is mounted below the source comes along. `nosuid`, `nodev`: nothing in it lends a privilege.
  json options = {"rbind"};
  if (!bind.as_mounted) options = {"rbind", "nosuid", "nodev", bind.read_only ? "ro" : "rw"};
  return {{"destination", bind.target}, {"type", "bind"}, {"source", bind.source}, {"options", options}};
}

json Filesystem(const char* target, const char* type, const json& options) {
  return {{"destination", target}, {"type", type}, {"source", type}, {"options", options}};
}

json Mounts(const ContainerPlan& plan) {
  const std::string shm = plan.limits.shm_bytes > 0 ? "size=" + std::to_string(plan.limits.shm_bytes) : "size=50%";
  json mounts = json::array({
      Filesystem("/proc", "proc", {"nosuid", "noexec", "nodev"}),
      Filesystem("/dev", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}),
      Filesystem("/dev/pts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
      Filesystem("/dev/shm", "tmpfs", {"nosuid", "noexec", "nodev", "mode=1777", shm}),
      Filesystem("/dev/mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
      Filesystem("/sys", "sysfs", {"nosuid", "noexec", "nodev", "ro"}),
  });
  for (const Bind& bind : plan.binds) mounts.push_back(BindMount(bind));
  return mounts;
}

json Resources(const TaskLimits& limits, bool swap_counts, bool ends_together) {
  json resources = {{"devices", {{{"allow", false}, {"access", "rwm"}}}}};
  if (limits.memory_bytes > 0) resources["memory"] = {{"limit", limits.memory_bytes}};
  // "swap" is the two together: no more by swapping.
  if (limits.memory_bytes > 0 && swap_counts) resources["memory"]["swap"] = limits.memory_bytes;
  if (limits.cpu_millis > 0) {
    resources["cpu"] = {{"period", kCpuPeriodUs}, {"quota", limits.cpu_millis * kCpuPeriodUs / 1000}};
  }
  if (limits.pids > 0) resources["pids"] = {{"limit", limits.pids}};
  // A rank that lost a helper would else wait for it, and its gang for the rank.
  if (ends_together) resources["unified"] = {{"memory.oom.group", "1"}};
  return resources;
}

json Process(const ContainerPlan& plan) {
  const json none = json::array();
  return {{"terminal", false},
          {"user", {{"uid", plan.user.uid}, {"gid", plan.user.gid}, {"additionalGids", plan.user.groups}}},
          {"args", plan.args},
          {"env", plan.env},
          {"cwd", "/"},
          {"capabilities",
           {{"bounding", none}, {"effective", none}, {"inheritable", none}, {"permitted", none}, {"ambient", none}}},
          {"rlimits", {{{"type", "RLIMIT_MEMLOCK"}, {"hard", plan.memlock_bytes}, {"soft", plan.memlock_bytes}}}},
          {"noNewPrivileges", true}};
}

json Namespaces() {
  return json::array({{{"type", "pid"}}, {{"type", "ipc"}}, {{"type", "uts"}}, {{"type", "mount"}}});
}

}  // namespace

std::string RuncConfig(const ContainerPlan& plan) {
  // What would show keys and passwords of the machine, and what would steer it.
  json masked = {"/etc/shadow",      "/etc/shadow-",      "/etc/gshadow",      "/etc/gshadow-",
                 "/etc/glim",        "/etc/ssh",          "/etc/ssl/private",  "/etc/sudoers",
                 "/etc/sudoers.d",   "/etc/krb5.keytab",  "/etc/wireguard",    "/proc/acpi",
                 "/proc/asound",     "/proc/kcore",       "/proc/keys",        "/proc/latency_stats",
                 "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi",
                 "/sys/firmware"};
  for (const std::string& path : plan.masked) masked.push_back(path);
  const json read_only = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};
  const json config = {{"ociVersion", "1.0.2"},
                       {"process", Process(plan)},
                       {"root", {{"path", plan.rootfs}, {"readonly", true}}},
                       {"hostname", plan.hostname},
                       {"mounts", Mounts(plan)},
                       {"linux",
                        {{"cgroupsPath", plan.cgroup},
                         {"resources", Resources(plan.limits, plan.swap_counts, plan.ends_together)},
                         {"namespaces", Namespaces()},
                         {"maskedPaths", masked},
                         {"readonlyPaths", read_only},
                         // Of all mounts, also those below "/", which systemd shares: nothing that is mounted for
                         // the container is then mounted on the node.
                         {"rootfsPropagation", "rslave"},
                         {"seccomp", SeccompProfile()}}}};
  return config.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace glim::nodeagent
