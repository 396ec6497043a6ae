#include "nodeagent/testing/agent_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "nodeagent/options/secrets_folder.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "nodeagent/os/unified_group.h"
#include "nodeagent/task/log_files.h"
#include "nodeagent/task/task_files.h"
#include "sdk/base/testing/folders.h"
#include "sdk/io/read_file.h"

extern char** environ;

namespace glim::nodeagent {

bool IsRunning(pid_t pid) {
  const auto info = ReadProcess(pid);
  return info && !info->gone;
}

const v1::ObservedTask* FindTask(const v1::NodeReport& report, const TaskKey& key) {
  for (const v1::ObservedTask& task : report.tasks()) {
    if (task.attempt().job_id() == key.job && task.attempt().number() == key.attempt && task.index() == key.index) {
      return &task;
    }
  }
  return nullptr;
}

AgentTest::AgentTest() {
  char name[] = "/tmp/glim-nodeagent-XXXXXX";
  root_ = ::mkdtemp(name);
  folder_ = root_ + "/w";
  state_ = root_ + "/s";
  std::filesystem::create_directory(folder_);
  if (in_container()) {
    EXPECT_EQ(::chmod(root_.c_str(), 0711), 0);  // the way to the jobs' folder is everybody's
    EXPECT_TRUE(GiveToUser(kTaskUser, folder_).ok());
  }
  set_.set_epoch(1);
}

AgentTest::~AgentTest() {
  if (HasFailure()) {
    const auto log = ReadFile(folder_ + "/agent.log", 1 << 20);
    if (log.ok()) std::fprintf(stderr, "--- the agent's log ---\n%s---\n", log->c_str());
  }
  if (agent_ > 0) KillAgent();
  KillTasks();
  RemoveControlGroups();
  // Beside the agent's own removals, which may still be under way. What tasks were given in memory lies elsewhere.
  std::vector<std::string> remove = {"/bin/rm", "-rf", "--", root_};
  if (const std::string secrets = SecretsFolder(state_); !secrets.empty()) remove.push_back(secrets);
  (void)RunProgram(remove, "/dev/null");
}

// Where the groups begin: one tree with version 2 alone, else one for each controller.
std::vector<std::string> GroupTrees() {
  std::error_code error;
  if (GroupsAreUnified()) return {"/sys/fs/cgroup"};
  std::vector<std::string> trees;
  for (const auto& tree : std::filesystem::directory_iterator("/sys/fs/cgroup", error)) trees.push_back(tree.path());
  return trees;
}

// The one above them is the agent's, which outlives every task. One whose processes are just being killed is busy for a
// moment.
void AgentTest::RemoveControlGroups() {
  const std::string name = "/glim/" + std::filesystem::path(root_).filename().string();
  const auto removed = [&] {
    bool all = true;
    std::error_code ignored;
    for (const std::string& tree : GroupTrees()) {
      const std::string group = tree + name;
      if (!std::filesystem::exists(group, ignored)) continue;
      if (LookAtGroup(group) == GroupState::kPopulated) KillGroup(group);
      all = RemoveGroup(group) && all;
    }
    return all;
  };
  EXPECT_TRUE(Eventually(removed)) << name;
}

std::string AgentTest::Folder(const std::string& name) const {
  std::string path = folder_;
  for (const auto& part : std::filesystem::path(name)) {
    path += "/" + part.string();
    if (!std::filesystem::create_directory(path) || !in_container()) continue;
    EXPECT_TRUE(GiveToUser(kTaskUser, path).ok());
  }
  return path;
}

void AgentTest::SignalShim(const TaskKey& key, int signal) const {
  const auto text = ReadFile(TaskPaths(TaskFolder(key)).identity(), 1 << 16);
  ASSERT_TRUE(text.ok()) << "the task has no shim";
  const auto identity = ParseProcessIdentity(*text);
  ASSERT_TRUE(identity.ok());
  const UniqueFd shim = OpenProcess(*identity, *ReadBootId());
  ASSERT_TRUE(shim) << "its shim is gone";
  EXPECT_TRUE(QueueSignal(shim.get(), signal, 0));
}

bool AgentTest::NoGroup(const std::string& ending) const {
  std::error_code error;
  const std::string group = "/glim/" + std::filesystem::path(root_).filename().string() + ending;
  for (const std::string& tree : GroupTrees()) {
    if (std::filesystem::exists(tree + group, error)) return false;
  }
  return true;
}

std::string AgentTest::AgentLog() const {
  const auto text = ReadFile(folder_ + "/agent.log", 1 << 20);
  return text.ok() ? *text : "";
}

std::vector<std::string> Runtimes() {
  std::vector<std::string> runtimes = {"process"};
  for (const std::string& runtime : ContainerRuntimes()) runtimes.push_back(runtime);
  return runtimes;
}

bool GroupsAreUnified() { return ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0; }

// crun wants control groups of version 2, and is on few machines.
std::vector<std::string> ContainerRuntimes() {
  if (::geteuid() != 0) return {};
  const bool crun = ::access("/usr/bin/crun", X_OK) == 0 && GroupsAreUnified();
  return crun ? std::vector<std::string>{"runc", "crun"} : std::vector<std::string>{"runc"};
}

std::vector<std::string> RuntimesWithMounts() { return ::geteuid() == 0 ? Runtimes() : std::vector<std::string>{}; }

void AgentTest::KillTasks() {
  std::error_code error;
  for (std::filesystem::directory_iterator it(state_ + "/tasks", error), end; !error && it != end;
       it.increment(error)) {
    const auto gone = [&] {
      const auto left = Marked(ListProcesses(), "GLIM_SOCKET=" + TaskPaths(it->path().string()).socket());
      for (const ProcessInfo& process : left) SignalProcess(process, SIGKILL);
      return left.empty();
    };
    EXPECT_TRUE(Eventually(gone)) << it->path();
  }
}

void AgentTest::StartAgent(const std::vector<std::string>& extra, const std::vector<std::string>& by) {
  std::vector<std::string> arguments = by;
  const std::string program = BuiltFile("bin/glim-agent");
  arguments.insert(arguments.end(),
                   {program, "--insecure-without-identity", "--scheduler", scheduler_.address(), "--state-dir", state_,
                    "--node-name", "node-1", "--runtime", GetParam(), "--mount-allow", "/tmp", "--cgroup-parent",
                    "/glim/" + std::filesystem::path(root_).filename().string()});
  if (!in_container()) {
    arguments.push_back("--any-user");
  } else if (std::find(extra.begin(), extra.end(), "--task-user") == extra.end()) {
    arguments.insert(arguments.end(),
                     {"--task-user", std::to_string(kTaskUser.uid) + ":" + std::to_string(kTaskUser.gid)});
  }
  // One machine, one kernel log: its faults are no test's.
  if (std::find(extra.begin(), extra.end(), "--health") == extra.end()) {
    arguments.insert(arguments.end(), {"--health", "no"});
  }
  if (!cluster_.empty()) arguments.insert(arguments.end(), {"--cluster-id", cluster_});
  arguments.insert(arguments.end(), extra.begin(), extra.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const std::string log = folder_ + "/agent.log";
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ASSERT_EQ(::posix_spawn(&agent_, pointers[0], &actions, nullptr, pointers.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
}

void AgentTest::KillAgent() {
  ::kill(agent_, SIGKILL);
  ::waitpid(agent_, nullptr, 0);
  agent_ = 0;
}

int AgentTest::EndAgent() {
  ::kill(agent_, SIGTERM);
  return AwaitAgent();
}

int AgentTest::AwaitAgent() {
  int status = 0;
  ::waitpid(agent_, &status, 0);
  agent_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

v1::DesiredTask& AgentTest::Listed(const TaskKey& key) {
  for (v1::DesiredTask& task : *set_.mutable_tasks()) {
    if (task.attempt().job_id() == key.job && task.attempt().number() == key.attempt && task.index() == key.index) {
      return task;
    }
  }
  v1::DesiredTask& task = *set_.add_tasks();
  task.mutable_attempt()->set_job_id(key.job);
  task.mutable_attempt()->set_number(key.attempt);
  task.set_index(key.index);
  return task;
}

v1::DesiredTask& AgentTest::Launch(const TaskKey& key, const std::string& run,
                                   const std::function<void(v1::TaskLaunch&)>& more) {
  v1::DesiredTask& task = Listed(key);
  v1::TaskLaunch& launch = *task.mutable_launch();
  launch.set_job_name("test");
  launch.set_workdir("/tmp");
  launch.set_run(run);
  launch.set_ranks(1);
  if (more) more(launch);
  return task;
}

void AgentTest::Unlist(const TaskKey& key) {
  for (int i = 0; i < set_.tasks_size(); ++i) {
    if (set_.tasks(i).attempt().job_id() == key.job) return set_.mutable_tasks()->DeleteSubrange(i, 1);
  }
}

void AgentTest::Stop(const TaskKey& key, std::int64_t term_ms) {
  v1::DesiredTask& task = Listed(key);
  task.clear_launch();
  task.mutable_stop()->set_reason("test");
  task.mutable_stop()->set_term_ms(term_ms);
}

void AgentTest::Send() {
  set_.set_revision(set_.revision() + 1);
  scheduler_.Want(set_);
}

std::optional<v1::ObservedTask> AgentTest::WaitTask(const TaskKey& key,
                                                    const std::function<bool(const v1::ObservedTask&)>& check) {
  const auto report = scheduler_.WaitReport([&](const v1::NodeReport& r) {
    const v1::ObservedTask* task = FindTask(r, key);
    return task && check(*task);
  });
  if (!report) return std::nullopt;
  return *FindTask(*report, key);
}

std::optional<v1::ObservedTask> AgentTest::WaitPhase(const TaskKey& key, v1::ObservedTask::Phase phase) {
  return WaitTask(key, [&](const v1::ObservedTask& task) { return task.phase() == phase; });
}

std::string AgentTest::TaskFolder(const TaskKey& key) const { return state_ + "/tasks/" + ToString(key); }

std::string AgentTest::LogText(const TaskKey& key, std::uint32_t rank) const {
  const std::string folder = state_ + "/logs/" + std::to_string(key.job) + "-" + std::to_string(key.attempt);
  const auto log = ReadLog(LogPath(folder, rank), 0, 1 << 20);
  return log.ok() ? log->data : "";
}

std::string AgentTest::WaitLine(const TaskKey& key, std::uint32_t rank, const std::string& prefix) {
  std::string rest;
  const bool found = Eventually([&] {
    const std::string text = "\n" + LogText(key, rank);
    const std::size_t at = text.find("\n" + prefix);
    if (at == std::string::npos) return false;
    const std::size_t begin = at + 1 + prefix.size();
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return false;
    rest = text.substr(begin, end - begin);
    return true;
  });
  EXPECT_TRUE(found) << "no line \"" << prefix << "\" in: " << LogText(key, rank);
  return rest;
}

pid_t AgentTest::WaitPid(const TaskKey& key, std::uint32_t rank, const std::string& prefix) {
  const pid_t printed = std::atoi(WaitLine(key, rank, prefix).c_str());
  if (!in_container() || printed <= 0) return printed;
  const std::string wanted = "\t" + std::to_string(printed);
  for (const ProcessInfo& process : Marked(ListProcesses(), "GLIM_SOCKET=" + TaskPaths(TaskFolder(key)).socket())) {
    const auto status = ReadFile("/proc/" + std::to_string(process.pid) + "/status", 1 << 16);
    if (!status.ok()) continue;
    const std::size_t begin = status->find("\nNSpid:") + 1;
    const std::string line = status->substr(begin, status->find('\n', begin) - begin);
    if (line.ends_with(wanted)) return process.pid;
  }
  return 0;
}

}  // namespace glim::nodeagent
