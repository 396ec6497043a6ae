#include "nodeagent/launch/snapshot_unpacker.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/task_environment/variables.h"

namespace glim::nodeagent {
namespace {

constexpr std::size_t kWordsMax = 4096;

int Reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// What glim-unpack had to say, on one line.
std::string WordsIn(const std::string& log) {
  const Result<std::string> text = ReadFile(log, kWordsMax);
  const std::string words = text.ok() ? text->substr(0, text->find('\n')) : "";
  return words.empty() ? "glim-unpack was killed" : words;
}

}  // namespace

SnapshotUnpacker::SnapshotUnpacker(boost::asio::io_context& io, std::string program)
    : io_(io), program_(std::move(program)) {}

SnapshotUnpacker::~SnapshotUnpacker() { Stop(); }

Status SnapshotUnpacker::Start(const TaskKey& key, const std::string& archive, const TaskPaths& paths,
                               const std::optional<TaskUser>& user, const std::string& group, Done done) {
  std::vector<std::string> arguments = {program_, archive, paths.code()};
  if (user) {
    arguments.push_back(std::to_string(user->uid));
    arguments.push_back(std::to_string(user->gid));
    for (const gid_t id : user->groups) arguments.push_back(std::to_string(id));
  }
  const Result<pid_t> pid =
      StartProgram(arguments, {AssignmentOf(TaskVariable::kSocket, paths.socket())}, paths.unpack_log(), {}, group);
  if (!pid.ok()) return pid.status();
  UniqueFd process(OpenPidfd(*pid));
  if (!process) {
    const int error = errno;
    ::kill(*pid, SIGKILL);
    Reap(*pid);
    return FileError("watch", "glim-unpack", error);
  }
  Run run{boost::asio::posix::stream_descriptor(io_, process.Release()), *pid, archive, paths.unpack_log(),
          std::move(done)};
  Run& kept = running_.emplace(key, std::move(run)).first->second;
  kept.process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          [this, key](const boost::system::error_code& error) {
                            if (!error) OnEnd(key);
                          });
  return Status::Ok();
}

void SnapshotUnpacker::OnEnd(const TaskKey& key) {
  const auto it = running_.find(key);
  if (it == running_.end()) return;
  Run run = std::move(it->second);
  running_.erase(it);
  const int status = Reap(run.pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return run.done(Status::Ok());
  run.done(Status(StatusCode::kFailedPrecondition,
                  "the job's code cannot be had from " + run.archive + ": " + WordsIn(run.log)));
}

void SnapshotUnpacker::Stop() {
  for (auto& [key, run] : running_) {
    ::kill(run.pid, SIGKILL);
    ::waitpid(run.pid, nullptr, WNOHANG);  // one that hangs in the kernel is left to the next parent
  }
  running_.clear();
}

}  // namespace glim::nodeagent
