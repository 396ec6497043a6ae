// glim-shim TASK_FOLDER: started by glim-agent for one task, never by hand. All it needs to know is in the folder.
// glim-shim mount-and-run BUNDLE PROGRAM ...: what it starts itself for a container; becomes PROGRAM.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "nodeagent/confinement/task_mounts.h"
#include "nodeagent/os/oom_score.h"
#include "nodeagent/os/processes.h"
#include "nodeagent/programs/shim/container.h"
#include "nodeagent/programs/shim/shim.h"
#include "nodeagent/task/sealed_file.h"
#include "nodeagent/task/task_files.h"

namespace glim::nodeagent {
namespace {

int Fail(const Status& status) {
  std::fprintf(stderr, "glim-shim: %s\n", status.message().c_str());
  return 1;
}

Status WriteIdentity(const TaskPaths& paths) {
  const Result<std::string> boot_id = ReadBootId();
  if (!boot_id.ok()) return boot_id.status();
  const auto self = ReadProcess(::getpid());
  if (!self) return Status(StatusCode::kInternal, "cannot read /proc: is it mounted?");
  return WriteSealed(paths.identity(), ToJson(ProcessIdentity{*boot_id, self->pid, self->start_ticks}),
                     Durability::kProcess);
}

int RunTask(const TaskPaths& paths) {
  const Result<std::string> text = ReadSealed(paths.launch(), kLaunchBytesMax);
  Result<LaunchSpec> spec = text.ok() ? ParseLaunchSpec(*text) : Result<LaunchSpec>(text.status());
  if (!spec.ok()) {
    const Status written = ReportUnstartable(paths, spec.status().message());
    return Fail(written.ok() ? spec.status() : written);
  }
  const Status status = Shim(paths, std::move(*spec)).Run();
  return status.ok() ? 0 : Fail(status);
}

// The first process ends as soon as the second has written down who it is: the agent waits for that exit, and the
// second is from then on nobody's child and in nobody's session.
int Main(const TaskPaths& paths) {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  int ready[2];
  if (::pipe(ready) != 0) return Fail(Status(StatusCode::kInternal, "cannot make a pipe"));
  const pid_t child = ::fork();
  if (child < 0) return Fail(Status(StatusCode::kResourceExhausted, "cannot fork: too many processes?"));
  if (child > 0) {
    ::close(ready[1]);
    char byte = 0;
    return ::read(ready[0], &byte, 1) == 1 ? 0 : 1;
  }
  ::close(ready[0]);
  ::umask(022);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || ::chdir("/") != 0) {
    return Fail(Status(StatusCode::kInternal, "cannot become the task's subreaper"));
  }
  // Its ranks inherit that. The supervisor itself is small: the kernel chooses it last.
  if (Status status = GiveUpOomProtection(); !status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  if (Status status = WriteIdentity(paths); !status.ok()) return Fail(status);
  const ssize_t told = ::write(ready[1], "r", 1);
  ::close(ready[1]);
  return told == 1 ? RunTask(paths) : 1;
}

}  // namespace
}  // namespace glim::nodeagent

int main(int argc, char** argv) {
  if (argc > 3 && std::string_view(argv[1]) == glim::nodeagent::kMountsVerb) {
    return glim::nodeagent::RunWithMounts(argv[2], {argv + 3, argv + argc});
  }
  if (argc != 2 || argv[1][0] != '/') {
    std::fprintf(stderr, "usage: glim-shim TASK_FOLDER (started by glim-agent)\n");
    return 2;
  }
  return glim::nodeagent::Main(glim::nodeagent::TaskPaths(argv[1]));
}
