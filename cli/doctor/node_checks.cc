#include "cli/doctor/node_checks.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "sdk/base/rfc3339.h"
#include "sdk/base/size_text.h"
#include "sdk/pki/certificate.h"
#include "sdk/pki/verify.h"

namespace glim::cli::doctor {
namespace {

constexpr uid_t kNobody = 65534;
constexpr std::size_t kInterfacesMax = 6;              // that are named
const std::vector<int> kKernelForMounts = {5, 12, 0};  // mount_setattr, open_tree
const std::vector<int> kKernelForKill = {5, 14, 0};    // cgroup.kill
const std::vector<int> kRuncTried = {1, 1, 0};         // Debian 12's, with which Glim is tested
const std::vector<int> kCrunTried = {1, 8, 0};
constexpr char kInvite[] =
    "an operator invites this node with `glim admin node invite`: run the line that it prints here";

std::string Joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

}  // namespace

std::string CertificatesOf(const std::string& identity) {
  const std::size_t begin = identity.find("-----BEGIN CERTIFICATE-----");
  return begin == std::string::npos ? "" : identity.substr(begin);
}

Outcome JudgeEnrolment(const EnrolmentFacts& facts, TimePoint now) {
  if (facts.without_identity) {
    return Warning("the agent runs without identity: whoever reaches it, or the scheduler, is believed",
                   "enrol the node, and leave out insecure_without_identity");
  }
  if (facts.path.empty()) return Fault("state_dir is missing", "name the agent's own folder in agent.yaml");
  if (!facts.folder.there && facts.folder.error == ENOENT) {
    return Fault("this node is not enrolled: there is no " + facts.path, kInvite);
  }
  if (!facts.folder.there || !facts.may_read) return Skipped("only the agent's user may look into " + facts.path);
  if ((facts.folder.mode & 077U) != 0) {
    return Fault(facts.path + " is open to others", fmt::format("chmod 700 {}; if others could read it, revoke the "
                                                                "node and enrol it anew",
                                                                facts.path));
  }
  const auto certificates = pki::ReadCertificates(facts.text);
  if (!certificates.ok()) return Fault(facts.path + "/node.pem: " + certificates.status().message(), kInvite);
  const pki::Certificate& own = certificates->front();
  const std::vector<pki::Certificate> authorities(certificates->begin() + 1, certificates->end());
  const std::string name = own.node().empty() ? "a certificate of no node" : own.node();
  const Status verdict = pki::VerifyLeaf(own, authorities, pki::Purpose::kNode, now);
  const std::string until = FormatRfc3339(own.valid_until());
  if (verdict.reason() == "CERTIFICATE_EXPIRED") {
    return Fault(fmt::format("the certificate of {} is not in time (until {})", name, until),
                 std::string("check the clock; else ") + kInvite);
  }
  if (!verdict.ok()) return Fault(fmt::format("{}: {}", name, verdict.message()), kInvite);
  const std::string seen = fmt::format("{} of cluster {}, until {}", name, own.cluster(), until);
  if (own.valid_until().ms - now.ms < (own.valid_until().ms - own.valid_from().ms) / 5) {
    return Warning(seen + ": it should have been renewed", "see why the agent does not reach the scheduler");
  }
  return Good(seen);
}

Outcome JudgeScheduler(const std::string& address, const Status& connected) {
  if (connected.ok()) return Good(address + " takes connections");
  return Fault(fmt::format("the scheduler's port for agents, {}: {}", address, connected.message()),
               "check `scheduler` in agent.yaml and `listen_agents` of glim-scheduler, and what filters the network");
}

Outcome JudgeKernel(const NodeWishes& wishes, const std::string& release) {
  const auto version = VersionIn(release);
  if (!version) return Skipped("the kernel does not tell its release");
  if (wishes.containers && *version < kKernelForMounts) {
    return Fault("Linux " + release + " does not mount by descriptor", "start Linux 5.12 or newer");
  }
  if (*version < kKernelForKill) {
    return Warning("Linux " + release + " ends a control group process by process", "start Linux 5.14 or newer");
  }
  return Good("Linux " + release);
}

Outcome JudgeCgroups(const NodeWishes& wishes, const CgroupFacts& facts) {
  const char* const fix =
      "boot with systemd.unified_cgroup_hierarchy=1; with the units of Glim glim-tasks.service is given them "
      "(Delegate=yes)";
  if (!facts.unified && !facts.version_1) return Fault("no control groups are mounted at /sys/fs/cgroup", fix);
  const std::string kind = facts.unified ? "version 2" : facts.mixed ? "versions 1 and 2" : "version 1";
  if (facts.mixed && wishes.runtime == "crun") {
    return Fault("crun does not take versions 1 and 2 side by side", "boot with version 2 alone, or use runc");
  }
  std::vector<std::string> lacking;
  for (const char* controller : {"cpu", "memory", "pids"}) {
    const bool there =
        std::find(facts.controllers.begin(), facts.controllers.end(), controller) != facts.controllers.end();
    if (!there) lacking.emplace_back(controller);
  }
  const std::string where = facts.parent.empty() ? "" : " of " + facts.parent;
  if (!lacking.empty() && wishes.containers) {
    return Fault(fmt::format("{}{}, without {}: tasks' limits do not hold", kind, where, Joined(lacking)), fix);
  }
  const std::string seen = fmt::format("{}{}: {}", kind, where, Joined(facts.controllers));
  if (facts.unified || !wishes.containers) return Good(seen);
  return Warning(seen + "; at its limit a task loses one process, and not all", fix);
}

Outcome JudgeRuntime(const NodeWishes& wishes, const RuntimeFacts& facts) {
  if (!wishes.containers) {
    return Warning("jobs run as plain processes: nothing confines them", "run the agent as root, with runc");
  }
  const std::string name = wishes.runtime == "crun" ? "crun" : "runc";
  const std::string fix = fmt::format("apt-get install {}, or name a {} that works with `runc: PATH`", name, name);
  if (facts.program.empty()) return Fault("there is no program " + name + " in the usual folders", fix);
  if (!facts.end.started || !facts.end.in_time || facts.end.code != 0) {
    const std::string how =
        facts.end.started && !facts.end.in_time ? "does not end" : fmt::format("ends with status {}", facts.end.code);
    return Fault(fmt::format("{} --version {}", facts.program, how), fix);
  }
  const std::string line = Escaped(Trimmed(facts.end.out.substr(0, facts.end.out.find('\n'))));
  const auto version = VersionIn(facts.end.out);
  if (!version) return Warning(fmt::format("{} tells no version: {}", facts.program, line), fix);
  if (*version < (name == "crun" ? kCrunTried : kRuncTried)) {
    return Warning(fmt::format("{}: {}, older than what Glim is tested with", facts.program, line),
                   fmt::format("install {} {} or newer", name, name == "crun" ? "1.8" : "1.1"));
  }
  return Good(fmt::format("{}: {}", facts.program, line));
}

Outcome JudgeUserNamespaces(const NodeWishes& wishes, const std::string& namespaces_max) {
  if (!wishes.containers || wishes.user_namespace == "no") return Skipped("the agent uses none");
  if (!namespaces_max.empty() && namespaces_max != "0") return Good("the kernel gives " + namespaces_max);
  const char* const seen = "user.max_user_namespaces allows none";
  const char* const fix = "sysctl -w user.max_user_namespaces=65536, and in /etc/sysctl.d for the next boot";
  return wishes.user_namespace == "yes" ? Fault(seen, fix) : Warning(seen, fix);
}

Outcome JudgeSeccomp(const NodeWishes& wishes, const std::string& actions) {
  if (actions.find("errno") != std::string::npos) return Good("the kernel filters system calls");
  if (!wishes.containers) return Skipped("plain processes have no filter");
  return Fault("the kernel has no filters of system calls", "start a kernel with CONFIG_SECCOMP_FILTER");
}

Outcome JudgePrograms(const ProgramsFacts& facts) {
  if (facts.folder.empty()) return Skipped("there is no glim-agent on this machine");
  if (!facts.missing.empty()) {
    return Fault(fmt::format("{} lacks {}", facts.folder, Joined(facts.missing)),
                 "install all of Glim's programs in one folder, of one release");
  }
  if (facts.sdk_there) return Good(fmt::format("all in {}; the SDK in {}", facts.folder, facts.sdk));
  return Warning(fmt::format("there is no SDK in {}: tasks do not `import glim`", facts.sdk),
                 "install share/glim/sdk beside bin, or name it with `sdk: PATH`");
}

Outcome JudgeMemlock(const NodeWishes& wishes, const Limits& limits) {
  if (!limits.found) return Skipped("glim-agent does not run: its limits are known when it does");
  if (limits.locked_bytes_hard < 0) return Good("no limit");
  const std::string seen =
      fmt::format("tasks may lock {}", RoundedSizeText(static_cast<std::uint64_t>(limits.locked_bytes_hard)));
  if (wishes.nic == "ethernet") return Good(seen + "; Ethernet without RDMA registers none");
  return Warning(seen, "LimitMEMLOCK=infinity in glim-agent.service");
}

Outcome JudgeNetwork(const NodeWishes& wishes, const NetworkFacts& facts) {
  std::vector<std::string> active, down, interfaces;
  const std::string link = wishes.nic == "infiniband" ? "InfiniBand" : "Ethernet";
  int fitting = 0;
  for (const RdmaPortFacts& port : facts.rdma) {
    if (port.state == "ACTIVE") {
      active.push_back(fmt::format("{} {} {}", port.name, port.link, port.rate));
      fitting += port.link == link ? 1 : 0;
    } else {
      down.push_back(fmt::format("{} {}", port.name, port.state));
    }
  }
  for (const InterfaceFacts& each : facts.interfaces) {
    if (each.up && interfaces.size() < kInterfacesMax)
      interfaces.push_back(each.mbit > 0 ? fmt::format("{} {} Mbit/s", each.name, each.mbit) : each.name);
  }
  if (wishes.nic != "ethernet") {
    if (fitting == 0) {
      return Fault(fmt::format("no port of {} is active{}{}", link, down.empty() ? "" : ": ", Joined(down)),
                   fmt::format("see `ibstat`: cable, driver, subnet manager; or say `nic: ethernet` in agent.yaml"));
    }
    if (!down.empty()) return Warning(fmt::format("{}; not active: {}", Joined(active), Joined(down)), "see `ibstat`");
    return Good(Joined(active));
  }
  if (interfaces.empty()) return Fault("no network interface is up", "see `ip link`");
  return Good(Joined(interfaces) + (active.empty() ? "" : "; RDMA, which `nic: ethernet` leaves alone: ") +
              Joined(active));
}

Outcome JudgeShm(const RoomFacts& facts) {
  if (facts.error != 0) return Fault("there is no /dev/shm", "mount -t tmpfs tmpfs /dev/shm");
  const std::string seen =
      fmt::format("{} of {} free", RoundedSizeText(facts.bytes_free), RoundedSizeText(facts.bytes));
  if (!facts.in_memory) return Warning(seen + ", and it is no tmpfs", "mount -t tmpfs tmpfs /dev/shm");
  if (facts.bytes_free < (std::uint64_t{64} << 20)) return Warning(seen, "remove what lies in /dev/shm");
  return Good(seen);
}

Outcome JudgeSharedRoot(const SharedRootFacts& facts) {
  const std::string missing = facts.missing.empty() ? "" : fmt::format("not there: {}", Joined(facts.missing));
  if (facts.root.empty()) {
    const std::string seen = "no folder that jobs may name has the marker of a checkpoint root";
    const char* const fix =
        "if the cluster has one (`checkpoint_root` of the policy), mount it, and name it: "
        "--checkpoint-root DIR";
    return missing.empty() ? Skipped(seen, fix) : Warning(seen + "; " + missing, fix);
  }
  if (!facts.jobs.there) {
    return Warning(facts.root + " has no folder jobs",
                   "an agent of root makes it; where the server squashes root: "
                   "install -d -m 1777 jobs there");
  }
  if (facts.of_nobody > 0) {
    return Fault(fmt::format("{} folders of {}/jobs belong to nobody: users' files are not theirs there",
                             facts.of_nobody, facts.root),
                 "let the server keep users' ids (no all_squash; the same idmap domain on both sides)");
  }
  const bool squashed = facts.jobs.owner == kNobody;
  const bool sticky = (facts.jobs.mode & 01777U) == 01777U;
  if (facts.jobs.owner == 0 || (squashed && sticky)) {
    const std::string seen = facts.root + (squashed ? ", whose server squashes root" : ", and root's files are root's");
    return missing.empty() ? Good(seen) : Warning(seen + "; " + missing, "mount it, or leave it out of mount_allow");
  }
  if (squashed) {
    return Fault(fmt::format("{}/jobs belongs to nobody, and users may not write there", facts.root),
                 "make it on the server: install -d -m 1777 jobs");
  }
  return Warning(
      fmt::format("{}/jobs belongs to uid {}: an agent of root gives its saves to no task", facts.root,
                  facts.jobs.owner),
      fmt::format("see whose its content is, then chown root:root {0}/jobs && chmod 711 {0}/jobs", facts.root));
}

}  // namespace glim::cli::doctor
