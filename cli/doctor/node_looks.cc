#include "cli/doctor/node_looks.h"

#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <sstream>

#include "cli/doctor/client_checks.h"
#include "cli/text/text.h"

namespace glim::cli::doctor {
namespace {

constexpr Duration kReachMax = Seconds(2);
constexpr Duration kVersionMax = Seconds(3);
constexpr std::int64_t kFilesWanted = 65536;

TimePoint NodeNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

bool AccountIsThere(const std::string& name) {
  std::vector<char> buffer(std::size_t{16} * 1024);
  struct passwd entry {};
  struct passwd* found = nullptr;
  return ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
}

RuntimeFacts AskRuntime(const NodeWishes& wishes, const std::string& named) {
  const std::string name = wishes.runtime == "crun" ? "crun" : "runc";
  RuntimeFacts facts;
  facts.program = named;
  if (named.empty()) {
    facts.program = FirstProgram(
        Machine(), {"/usr/local/sbin/" + name, "/usr/local/bin/" + name, "/usr/sbin/" + name, "/usr/bin/" + name});
  }
  if (!facts.program.empty() && wishes.containers) facts.end = RunProgram({facts.program, "--version"}, kVersionMax);
  return facts;
}

// Where the agent finds the scheduler: its option, what it was told when it was enrolled, the default.
std::string SchedulerOf(const Machine& machine, const ProgramSettings& settings) {
  std::string said = Setting(settings, "scheduler");
  if (!said.empty()) return said;
  const std::string told = machine.Line(Setting(settings, "state_dir") + "/identity/node.pem");
  const std::string key = "scheduler ";
  return told.starts_with(key) ? told.substr(key.size()) : "127.0.0.1:7603";
}

std::vector<AccountFacts> AskAccounts(const Machine& machine, const ProgramSettings& settings) {
  std::vector<AccountFacts> accounts;
  const std::string user = Setting(settings, "task_user");
  const bool is_name = !user.empty() && user.find_first_not_of("0123456789:") != std::string::npos;
  if (is_name) accounts.push_back({user, AccountIsThere(user), "task_user"});
  const bool replica = machine.Look("/etc/systemd/system/multi-user.target.wants/glim-replica.service").there;
  if (replica) accounts.push_back({"glim-replica", AccountIsThere("glim-replica"), "glim-replica.service"});
  return accounts;
}

MemoryFacts ReadMemory(const Machine& machine, const ProgramSettings& settings) {
  MemoryFacts facts = ParseMemory(machine.Text("/proc/meminfo"));
  const std::string reserve = Setting(settings, "reserve_memory");
  std::from_chars(reserve.data(), reserve.data() + reserve.size(), facts.reserve);
  return facts;
}

std::vector<std::string> WordsOf(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

// What needs nothing of the settings, or little.
void AddMachineLooks(const NodeWishes& wishes, const ProgramSettings& settings, std::vector<Look>* looks) {
  const auto add = [&](const char* check, std::function<Outcome()> run) {
    looks->push_back(LookAt(Role::kNode, check, std::move(run)));
  };
  const Machine here;
  add("clock", [] { return JudgeClock(ReadClockState()); });
  add("kernel", [=] { return JudgeKernel(wishes, here.Line("/proc/sys/kernel/osrelease")); });
  add("cgroups", [=] { return JudgeCgroups(wishes, ReadCgroups(here, Setting(settings, "cgroup_parent"))); });
  add("runtime", [=] { return JudgeRuntime(wishes, AskRuntime(wishes, Setting(settings, "runc"))); });
  add("user-namespaces", [=] { return JudgeUserNamespaces(wishes, here.Line("/proc/sys/user/max_user_namespaces")); });
  add("seccomp", [=] { return JudgeSeccomp(wishes, here.Line("/proc/sys/kernel/seccomp/actions_avail")); });
  add("memlock", [=] { return JudgeMemlock(wishes, ReadLimitsOf(here, "glim-agent")); });
  add("descriptors", [=] { return JudgeDescriptors("glim-agent", ReadLimitsOf(here, "glim-agent"), kFilesWanted); });
  add("network", [=] { return JudgeNetwork(wishes, ReadNetwork(here)); });
  add("shm", [=] { return JudgeShm(here.Room("/dev/shm")); });
  add("memory", [=] { return JudgeMemory(ReadMemory(here, settings)); });
  add("units", [=] {
    const bool runs = SystemdRuns(here);
    if (!runs) return JudgeUnits(runs, {});
    return JudgeUnits(runs, {AskUnit("glim-agent.service", true), AskUnit("glim-tasks.service", true),
                             AskUnit("glim-replica.service", false)});
  });
}

}  // namespace

std::vector<Look> NodeLooks(const SettingsFacts& facts, const std::string& checkpoint_root) {
  const ProgramSettings settings = ParseSettings(facts.end.out);
  const NodeWishes wishes = WishesOf(settings);
  std::vector<Look> looks;
  const auto add = [&](const char* check, std::function<Outcome()> run) {
    looks.push_back(LookAt(Role::kNode, check, std::move(run)));
  };
  const Machine here;
  add("configuration", [=] { return JudgeSettings("glim-agent", facts); });
  add("programs", [=] { return JudgePrograms(ReadPrograms(here, facts.program, Setting(settings, "shim"))); });
  AddMachineLooks(wishes, settings, &looks);
  if (settings.empty()) {
    for (const char* check : {"enrolment", "scheduler", "ports", "checkpoint-root", "disk", "accounts"}) {
      add(check, [] { return Skipped("the agent's configuration is not known"); });
    }
    return looks;
  }
  add("enrolment", [=] { return JudgeEnrolment(ReadEnrolment(here, settings), NodeNow()); });
  add("scheduler", [=] {
    const std::string address = SchedulerOf(here, settings);
    return JudgeScheduler(address, TryToConnect(address, kReachMax));
  });
  add("ports", [=] { return JudgePorts("glim-agent", ReadPorts(here, settings, {"saves_listen", "metrics"})); });
  add("checkpoint-root", [=] {
    return JudgeSharedRoot(ReadSharedRoot(here, WordsOf(Setting(settings, "mount_allow")), checkpoint_root));
  });
  add("disk", [=] {
    const std::string state = Setting(settings, "state_dir");
    if (state.empty()) return Fault("state_dir is missing", "name the agent's own folder in agent.yaml");
    return JudgeRooms({{state, here.Room(state)}, {"/tmp", here.Room("/tmp")}});
  });
  add("accounts", [=] { return JudgeAccounts(AskAccounts(here, settings)); });
  return looks;
}

}  // namespace glim::cli::doctor
