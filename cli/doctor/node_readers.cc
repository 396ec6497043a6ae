#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "cli/doctor/node_looks.h"
#include "cli/text/text.h"

namespace glim::cli::doctor {
namespace {

constexpr Duration kSettingsMax = Milliseconds(1500);
constexpr std::size_t kFoldersMax = 200;  // that are looked at for a marker
constexpr uid_t kUserNobody = 65534;
constexpr char kAgentEnvironment[] = "/etc/glim/agent.env";
constexpr char kAgentConfig[] = "/etc/glim/agent.yaml";

std::vector<std::string> WordsIn(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

// Where the agent says what it reads; empty: nowhere.
std::string SourceIn(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--config" && i + 1 < words.size()) return words[i + 1];
    if (words[i].starts_with("--config=")) return words[i].substr(9);
  }
  return "";
}

bool HasMarker(const Machine& machine, const std::string& folder) {
  const std::vector<std::string> names = machine.Names(folder);
  return std::any_of(names.begin(), names.end(), [](const std::string& n) { return n.starts_with(".glim-root-"); });
}

std::string FindSharedRoot(const Machine& machine, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (HasMarker(machine, folder)) return folder;
    std::size_t looked_at = 0;
    for (const std::string& name : machine.Names(folder)) {
      std::string below = Below(folder, name);
      if (++looked_at > kFoldersMax) break;
      if (machine.Look(below).folder && HasMarker(machine, below)) return below;
    }
  }
  return "";
}

}  // namespace

std::vector<std::string> AgentWords(const std::string& environment) {
  std::istringstream lines(environment);
  for (std::string line; std::getline(lines, line);) {
    std::string value = Trimmed(line);
    const std::string key = "GLIM_AGENT_OPTIONS=";
    if (!value.starts_with(key)) continue;
    value.erase(0, key.size());
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) value = value.substr(1, value.size() - 2);
    return WordsIn(value);
  }
  return {};
}

SettingsFacts AskAgentSettings(const Machine& machine, const std::string& config) {
  std::vector<std::string> words = AgentWords(machine.Text(kAgentEnvironment));
  if (!config.empty()) {
    words = {"--config", config};
  } else if (words.empty() && machine.Look(kAgentConfig).there) {
    words = {"--config", kAgentConfig};
  }
  SettingsFacts facts{FindGlimProgram("glim-agent"), SourceIn(words), {}};
  if (facts.program.empty()) return facts;
  words.insert(words.begin(), {facts.program, "settings"});
  facts.end = RunProgram(words, kSettingsMax);
  return facts;
}

NodeWishes WishesOf(const ProgramSettings& settings) {
  NodeWishes wishes;
  wishes.runtime = Setting(settings, "runtime");
  if (wishes.runtime.empty()) wishes.runtime = "auto";
  wishes.containers = wishes.runtime != "process";
  if (const std::string nic = Setting(settings, "nic"); !nic.empty()) wishes.nic = nic;
  if (const std::string mode = Setting(settings, "user_namespace"); !mode.empty()) wishes.user_namespace = mode;
  return wishes;
}

CgroupFacts ReadCgroups(const Machine& machine, const std::string& parent) {
  const std::string tree = "/sys/fs/cgroup";
  CgroupFacts facts;
  facts.unified = machine.Look(tree + "/cgroup.controllers").there;
  facts.mixed = machine.Look(tree + "/unified/cgroup.controllers").there;
  if (facts.unified) {
    const std::string group = tree + parent;
    const bool made = !parent.empty() && machine.Look(group + "/cgroup.controllers").there;
    facts.parent = made ? parent : "";
    facts.controllers = WordsIn(machine.Line((made ? group : tree) + "/cgroup.controllers"));
    return facts;
  }
  for (const char* controller : {"cpu", "cpuset", "memory", "pids"}) {
    if (machine.Look(tree + "/" + controller).folder) facts.controllers.emplace_back(controller);
  }
  facts.version_1 = !facts.controllers.empty();
  return facts;
}

NetworkFacts ReadNetwork(const Machine& machine) {
  NetworkFacts facts;
  const std::string cards = "/sys/class/infiniband";
  for (const std::string& card : machine.Names(cards)) {
    const std::string ports = Below(Below(cards, card), "ports");
    for (const std::string& number : machine.Names(ports)) {
      const std::string port = Below(ports, number);
      const std::string state = machine.Line(Below(port, "state"));  // "4: ACTIVE"
      std::string name = card;
      facts.rdma.push_back({name.append(":").append(number), Trimmed(state.substr(state.find(':') + 1)),
                            machine.Line(Below(port, "link_layer")), machine.Line(Below(port, "rate"))});
    }
  }
  const std::string interfaces = "/sys/class/net";
  for (const std::string& name : machine.Names(interfaces)) {
    if (name == "lo") continue;
    const std::string state = machine.Line(Below(Below(interfaces, name), "operstate"));
    const std::string speed = machine.Line(Below(Below(interfaces, name), "speed"));
    facts.interfaces.push_back({name, state == "up" || state == "unknown", std::atoi(speed.c_str())});
  }
  return facts;
}

EnrolmentFacts ReadEnrolment(const Machine& machine, const ProgramSettings& settings) {
  EnrolmentFacts facts;
  facts.without_identity = SaysYes(settings, "insecure_without_identity");
  const std::string state = Setting(settings, "state_dir");
  if (state.empty()) return facts;
  facts.path = state + "/identity";
  facts.folder = machine.Look(facts.path);
  const std::string text = machine.Text(facts.path + "/node.pem");
  facts.may_read = !text.empty();
  facts.text = CertificatesOf(text);
  return facts;
}

ProgramsFacts ReadPrograms(const Machine& machine, const std::string& agent, const std::string& shim) {
  ProgramsFacts facts;
  if (agent.empty()) return facts;
  facts.folder = std::filesystem::path(agent).parent_path().string();
  const std::string beside = shim.empty() ? facts.folder : std::filesystem::path(shim).parent_path().string();
  for (const char* program : {"glim-shim", "glim-health", "glim-image", "glim-init", "glim-inventory", "glim-paths",
                              "glim-unpack", "glim-task"}) {
    if (!machine.MayRun(beside + "/" + program)) facts.missing.emplace_back(program);
  }
  facts.sdk = std::filesystem::path(facts.folder).parent_path().string() + "/share/glim/sdk";
  facts.sdk_there = machine.Look(facts.sdk).folder;
  return facts;
}

SharedRootFacts ReadSharedRoot(const Machine& machine, const std::vector<std::string>& folders, std::string root) {
  const std::vector<std::string> by_default = {"/home", "/data", "/scratch", "/mnt", "/srv"};
  SharedRootFacts facts;
  for (const std::string& folder : folders) {
    const bool named = std::find(by_default.begin(), by_default.end(), folder) == by_default.end();
    if (named && !machine.Look(folder).there) facts.missing.push_back(folder);
  }
  facts.root = root.empty() ? FindSharedRoot(machine, folders) : std::move(root);
  if (facts.root.empty()) return facts;
  if (!machine.Look(facts.root).folder) facts.missing.push_back(facts.root);
  facts.jobs = machine.Look(facts.root + "/jobs");
  std::size_t looked_at = 0;
  for (const std::string& job : machine.Names(facts.root + "/jobs")) {
    if (++looked_at > kFoldersMax) break;
    const FileFacts folder = machine.Look(facts.root + "/jobs/" + job);
    if (folder.there && folder.owner == kUserNobody) ++facts.of_nobody;
  }
  return facts;
}

}  // namespace glim::cli::doctor
