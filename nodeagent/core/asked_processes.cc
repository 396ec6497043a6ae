#include "nodeagent/core/asked_processes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>

namespace glim::nodeagent {
namespace {

using Pids = std::vector<std::int32_t>;

// They may handle a signal, but for what they run: shells, and programs that run one other program and end with it.
constexpr std::string_view kWrappers[] = {
    "ash",         "bash",        "busybox",    "catatonit", "conda",           "csh",
    "dash",        "docker-init", "dumb-init",  "fish",      "hydra_pmi_proxy", "ksh",
    "ltrace",      "mamba",       "micromamba", "mksh",      "mpiexec",         "mpiexec.hydra",
    "mpirun",      "ncu",         "nsys",       "orted",     "orterun",         "perf",
    "pixi",        "prted",       "prterun",    "runuser",   "script",          "sh",
    "strace",      "su",          "sudo",       "tcsh",      "timeout",         "tini",
    "tini-static", "unshare",     "uv",         "watch",     "xargs",           "zsh"};

bool IsWrapper(const TaskProcess& process) {
  return std::find(std::begin(kWrappers), std::end(kWrappers), process.program) != std::end(kWrappers);
}

class Forest {
 public:
  explicit Forest(const std::vector<TaskProcess>& processes) {
    for (const TaskProcess& process : processes) by_pid_.emplace(process.pid, &process);
    for (const TaskProcess& process : processes) children_[process.parent].push_back(&process);
  }

  const TaskProcess* Find(std::int32_t pid) const {
    const auto it = by_pid_.find(pid);
    return it == by_pid_.end() ? nullptr : it->second;
  }

  const std::vector<const TaskProcess*>& ChildrenOf(std::int32_t pid) const {
    static const std::vector<const TaskProcess*> none;
    const auto it = children_.find(pid);
    return it == children_.end() ? none : it->second;
  }

  // `pid` and all below it.
  void AddTree(std::int32_t pid, std::set<std::int32_t>* tree) const {
    Pids queue = {pid};
    while (!queue.empty()) {
      const std::int32_t next = queue.back();
      queue.pop_back();
      if (!tree->insert(next).second) continue;
      for (const TaskProcess* child : ChildrenOf(next)) queue.push_back(child->pid);
    }
  }

 private:
  std::map<std::int32_t, const TaskProcess*> by_pid_;
  std::map<std::int32_t, std::vector<const TaskProcess*>> children_;
};

// A frame of the walk below: a wrapper that handles the signal is a program if none is found below it.
struct Step {
  const TaskProcess* process = nullptr;
  std::size_t found_before = 0;
  bool below_done = false;
};

// The programs of `root` and below it. Without recursion: a task makes chains of processes as long as it likes.
void AddPrograms(const Forest& forest, const TaskProcess& root, Pids* programs) {
  std::vector<Step> steps = {{&root}};
  while (!steps.empty()) {
    const Step step = steps.back();
    steps.pop_back();
    const TaskProcess& process = *step.process;
    if (step.below_done) {
      if (programs->size() == step.found_before) programs->push_back(process.pid);
      continue;
    }
    if (process.handles && !IsWrapper(process)) {
      programs->push_back(process.pid);
      continue;
    }
    if (process.handles) steps.push_back({&process, programs->size(), true});
    for (const TaskProcess* child : forest.ChildrenOf(process.pid)) steps.push_back({child});
  }
}

}  // namespace

AskedProcesses AskAll(const std::vector<TaskProcess>& processes) {
  AskedProcesses result;
  for (const TaskProcess& process : processes) result.asked.push_back(process.pid);
  return result;
}

AskedProcesses AskMain(const std::vector<TaskProcess>& processes, const std::set<std::int32_t>& ranks) {
  const Forest forest(processes);
  AskedProcesses result;
  for (const std::int32_t rank : ranks) {
    if (const TaskProcess* root = forest.Find(rank)) AddPrograms(forest, *root, &result.asked);
  }
  if (result.asked.empty()) {
    for (const TaskProcess& process : processes) {
      const bool is_root = !ranks.contains(process.pid) && !forest.Find(process.parent);
      if (is_root) AddPrograms(forest, process, &result.asked);
    }
  }
  if (result.asked.empty()) return AskAll(processes);
  std::set<std::int32_t> with_helpers, above;
  for (const std::int32_t pid : result.asked) {
    forest.AddTree(pid, &with_helpers);
    for (const TaskProcess* p = forest.Find(forest.Find(pid)->parent); p && above.insert(p->pid).second;) {
      p = forest.Find(p->parent);
    }
  }
  for (const std::int32_t pid : with_helpers) {
    if (std::find(result.asked.begin(), result.asked.end(), pid) == result.asked.end()) result.helpers.push_back(pid);
  }
  // Down from the roots, so that a parent is stopped before its child: it would see that one stop.
  Pids queue;
  for (const TaskProcess& process : processes) {
    if (!forest.Find(process.parent)) queue.push_back(process.pid);
  }
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const TaskProcess& process = *forest.Find(queue[at]);
    for (const TaskProcess* child : forest.ChildrenOf(process.pid)) queue.push_back(child->pid);
    if (with_helpers.contains(process.pid)) continue;
    const bool is_above = above.contains(process.pid);
    Pids& list = !is_above ? result.beside : process.waits_for_child ? result.stopped : result.above;
    list.push_back(process.pid);
  }
  return result;
}

std::vector<std::int32_t> AskLate(const std::vector<TaskProcess>& processes, const std::set<std::int32_t>& asked) {
  const Forest forest(processes);
  Pids late;
  for (const std::int32_t pid : asked) {
    const TaskProcess* launcher = forest.Find(pid);
    if (!launcher) continue;
    Pids queue;
    for (const TaskProcess* child : forest.ChildrenOf(pid)) queue.push_back(child->pid);
    while (!queue.empty()) {
      const TaskProcess& process = *forest.Find(queue.back());
      queue.pop_back();
      const bool is_program = process.program == launcher->program && process.command != launcher->command;
      if (process.handles && is_program) {
        late.push_back(process.pid);
        continue;
      }
      for (const TaskProcess* child : forest.ChildrenOf(process.pid)) queue.push_back(child->pid);
    }
  }
  return late;
}

}  // namespace glim::nodeagent
