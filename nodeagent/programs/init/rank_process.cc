#include "nodeagent/programs/init/rank_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "nodeagent/os/oom_score.h"
#include "nodeagent/os/spawn_process.h"
#include "nodeagent/task/start_fault.h"
#include "sdk/io/read_file.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kSecretFileBytesMax = 64 << 10;

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
  if (denied == EACCES) return PathDenied("workdir", workdir, ::geteuid());
  return Status(StatusCode::kFailedPrecondition, refused + std::strerror(denied)).WithField("workdir");
}

// Secrets that the job wants as variables are read here, just before the program is started, and kept nowhere.
Result<std::vector<std::string>> Environment(const LaunchSpec& spec, const RankLaunch& rank) {
  std::map<std::string, std::string> merged(spec.env.begin(), spec.env.end());
  for (const auto& [name, path] : spec.secret_env) {
    Result<std::string> value = ReadFile(path, kSecretFileBytesMax);
    if (!value.ok()) return value.status();
    merged[name] = std::move(*value);
  }
  for (const auto& [name, value] : rank.env) merged[name] = value;
  // Marks every process of the task; first, where nothing that grows can push it out of sight.
  std::vector<std::string> entries = {AssignmentOf(TaskVariable::kTask, spec.task)};
  merged.erase(NameOf(TaskVariable::kTask));
  for (const auto& [name, value] : merged) entries.push_back(name + "=" + value);
  return entries;
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

Result<pid_t> SpawnRank(const LaunchSpec& spec, const RankLaunch& rank, int output, const std::string& group) {
  if (Status status = CheckWorkdir(spec.workdir); !status.ok()) return status;
  const UniqueFd input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Result<std::vector<std::string>> environment = Environment(spec, rank);
  if (!environment.ok()) return environment.status();
  const SpawnPlan plan{{spec.shell, "-c", spec.run},
                       std::move(*environment),
                       spec.workdir,
                       group,
                       {{input.get(), 0}, {output, 1}, {output, 2}},
                       rank.cpus,
                       rank.memory};
  pid_t pid = 0;
  const int error = input ? SpawnProcess(plan, &pid) : errno;
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
  const Result<pid_t> pid = SpawnRank(spec, rank, pipe->write.get(), spec.group);
  if (!pid.ok()) return pid.status();
  RaiseOomScore(*pid, kRankOomScore);
  return RankProcess{rank.rank, *pid, std::move(pipe->read)};
}

}  // namespace glim::nodeagent
