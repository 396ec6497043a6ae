#include "nodeagent/options/container_options.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <string>

#include "nodeagent/os/user_namespace.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr std::int64_t kReserveLeast = std::int64_t{1} << 30;

std::int64_t MemoryTotal() {
  struct sysinfo info {};
  return ::sysinfo(&info) == 0 ? static_cast<std::int64_t>(info.totalram) * info.mem_unit : 0;
}

Status RefuseForProcesses(const char* option, const char* why) {
  return InvalidArgument(option, std::string(option) + ": plain processes " + why,
                         "use --runtime runc, or leave it out");
}

Status CompleteUserNamespace(std::string* said) {
  std::string& asked = *said;
  if (asked != "auto" && asked != "yes" && asked != "no") {
    return InvalidArgument("--user-namespace", "--user-namespace \"" + asked + "\" is unknown", "use auto, yes or no");
  }
  if (asked == "no") return Status::Ok();
  const std::string why = WhyNoUserNamespaces();
  if (why.empty()) {
    asked = "yes";
    return Status::Ok();
  }
  if (asked == "yes") {
    return Status(StatusCode::kFailedPrecondition, "--user-namespace yes: this node has no user namespaces: " + why)
        .WithField("--user-namespace")
        .WithFix("allow them (sysctl user.max_user_namespaces), or run without: --user-namespace no");
  }
  LogWarning("event=no_user_namespace note=\"root's id in containers is root's of the node; no task has it\" why={}",
             Quoted(why));
  asked = "no";
  return Status::Ok();
}

}  // namespace

std::int64_t ReserveByDefault(std::int64_t memory_total) {
  return std::min(memory_total / 2, std::max(kReserveLeast, memory_total / 20));
}

Status CompleteContainers(const ContainerWishes& wishes) {
  std::int64_t& reserve = *wishes.reserve_memory_bytes;
  if (Status status = CheckChoice(wishes.devices); !status.ok()) return status;
  if (!wishes.in_containers) {
    if (wishes.devices.devices != DeviceChoice().devices) {
      return RefuseForProcesses("--devices", "see all of the node's devices that their user may open");
    }
    if (wishes.tmp_bytes_max > 0) {
      return RefuseForProcesses("--tmp-bytes", "have the node's own /tmp, which it cannot bound");
    }
    if (reserve < 0) return Status::Ok();
    return RefuseForProcesses("--reserve-memory", "are held to no memory");
  }
  if (Status status = CompleteUserNamespace(wishes.user_namespace); !status.ok()) return status;
  const std::int64_t total = MemoryTotal();
  if (reserve < 0) reserve = ReserveByDefault(total);
  if (reserve < total) return Status::Ok();
  return InvalidArgument(
      "--reserve-memory",
      "--reserve-memory leaves tasks no memory: this node has " + std::to_string(total >> 20) + " MiB", "reserve less");
}

}  // namespace glim::nodeagent
