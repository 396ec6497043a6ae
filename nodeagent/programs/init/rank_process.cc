#include "nodeagent/programs/init/rank_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "nodeagent/os/run_program.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

// posix_spawn's attribute objects, released when they go out of scope.
struct SpawnPlan {
  SpawnPlan() { posix_spawn_file_actions_init(&actions), posix_spawnattr_init(&attributes); }
  ~SpawnPlan() { posix_spawn_file_actions_destroy(&actions), posix_spawnattr_destroy(&attributes); }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

Status CheckWorkdir(const std::string& workdir) {
  const std::string refused = "workdir " + workdir + " cannot be used on this node: ";
  struct stat info {};
  const bool there = ::stat(workdir.c_str(), &info) == 0;
  const int error = there ? 0 : errno;
  if (error == ENOENT) return PathMissing("workdir", workdir);
  if (error == ENOTDIR || (there && !S_ISDIR(info.st_mode))) {
    return InvalidArgument("workdir", refused + "it is not a folder", "name a folder");
  }
  if (there && ::access(workdir.c_str(), X_OK) == 0) return Status::Ok();
  const int denied = there ? errno : error;
  // Another node may give it.
  return Status(StatusCode::kFailedPrecondition, refused + std::strerror(denied))
      .WithField("workdir")
      .WithFix("let the user that jobs run as read it");
}

std::vector<std::string> Environment(const LaunchSpec& spec, const RankLaunch& rank) {
  std::map<std::string, std::string> merged(spec.env.begin(), spec.env.end());
  for (const auto& [name, value] : rank.env) merged[name] = value;
  // Marks every process of the task; first, where nothing that grows can push it out of sight.
  std::vector<std::string> entries = {AssignmentOf(TaskVariable::kTask, spec.task)};
  merged.erase(NameOf(TaskVariable::kTask));
  for (const auto& [name, value] : merged) entries.push_back(name + "=" + value);
  return entries;
}

void Prepare(SpawnPlan& plan, const LaunchSpec& spec, int output) {
  posix_spawn_file_actions_addopen(&plan.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&plan.actions, output, 1);
  posix_spawn_file_actions_adddup2(&plan.actions, output, 2);
  posix_spawn_file_actions_addclosefrom_np(&plan.actions, 3);
  posix_spawn_file_actions_addchdir_np(&plan.actions, spec.workdir.c_str());
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&plan.attributes, &none);
  posix_spawnattr_setsigdefault(&plan.attributes, &all);
  posix_spawnattr_setflags(&plan.attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

}  // namespace

Result<OutputPipe> MakeOutputPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Status(StatusCode::kResourceExhausted, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  OutputPipe pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

Result<pid_t> SpawnRank(const LaunchSpec& spec, const RankLaunch& rank, int output) {
  if (Status status = CheckWorkdir(spec.workdir); !status.ok()) return status;
  SpawnPlan plan;
  Prepare(plan, spec, output);
  std::vector<std::string> arguments = {spec.shell, "-c", spec.run};
  std::vector<std::string> environment = Environment(spec, rank);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, spec.shell.c_str(), &plan.actions, &plan.attributes, Pointers(arguments).data(),
                                  Pointers(environment).data());
  if (error == E2BIG) {
    return InvalidArgument("run", "run or the environment is too large to start a program with",
                           "keep `run` and every variable below 128 KiB, 2 MiB in all");
  }
  if (error != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  "cannot start " + spec.shell + " in " + spec.workdir + ": " + std::strerror(error));
  }
  return pid;
}

Result<RankProcess> StartRank(const LaunchSpec& spec, const RankLaunch& rank) {
  Result<OutputPipe> pipe = MakeOutputPipe();
  if (!pipe.ok()) return pipe.status();
  const Result<pid_t> pid = SpawnRank(spec, rank, pipe->write.get());
  if (!pid.ok()) return pid.status();
  return RankProcess{rank.rank, *pid, std::move(pipe->read)};
}

}  // namespace glim::nodeagent
