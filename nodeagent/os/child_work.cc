#include "nodeagent/os/child_work.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/io/io_error.h"
#include "sdk/io/unique_fd.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;

constexpr int kInput = 3;
constexpr int kOutput = 4;
constexpr std::size_t kOutputBytesMax = 1 << 20;

// A file in memory, read from its beginning.
Result<UniqueFd> FileOf(const std::string& bytes) {
  UniqueFd fd(::memfd_create("glim-input", MFD_CLOEXEC));
  if (!fd) return FileError("make", "a file in memory", errno);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return FileError("write", "a file in memory", errno);
    done += static_cast<std::size_t>(n);
  }
  if (::lseek(fd.get(), 0, SEEK_SET) != 0) return FileError("rewind", "a file in memory", errno);
  return fd;
}

std::string WordsOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "by signal " + std::to_string(WTERMSIG(wait_status));
  return "with exit code " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

struct ChildWork::Child {
  explicit Child(asio::io_context& io) : process(io), pipe(io), timer(io) {}

  Id id = 0;
  pid_t pid = 0;
  asio::posix::stream_descriptor process;  // pidfd
  asio::posix::stream_descriptor pipe;
  asio::steady_timer timer;
  std::array<char, 4096> buffer{};
  std::string output;
  std::string end;
  bool over = false;       // the process
  bool heard_out = false;  // the pipe
  Done done;               // null: nobody waits
};

ChildWork::ChildWork(asio::io_context& io) : io_(io) {}

ChildWork::~ChildWork() { Stop(); }

Result<ChildWork::Id> ChildWork::Start(const std::vector<std::string>& arguments, const std::string& input,
                                       std::chrono::milliseconds limit, Done done) {
  Result<UniqueFd> file = FileOf(input);
  if (!file.ok()) return file.status();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return FileError("make", "a pipe", errno);
  UniqueFd read(ends[0]), write(ends[1]);
  const Result<pid_t> pid = StartProgram(arguments, {}, "/dev/null", {{file->get(), kInput}, {write.get(), kOutput}});
  if (!pid.ok()) return pid.status();
  UniqueFd process(OpenPidfd(*pid));
  if (!process) {
    const int error = errno;
    ::kill(*pid, SIGKILL);
    ::waitpid(*pid, nullptr, WNOHANG);
    return FileError("watch", arguments[0], error);
  }
  const Id id = next_++;
  Child& child = *children_.emplace(id, std::make_unique<Child>(io_)).first->second;
  child.id = id;
  child.pid = *pid;
  child.done = std::move(done);
  child.process.assign(process.Release());
  child.pipe.assign(read.Release());
  child.timer.expires_after(limit);
  child.timer.async_wait([this, id](boost::system::error_code error) {
    const auto it = children_.find(id);
    if (error || it == children_.end()) return;
    GiveUp(*it->second);
    Tell(*it->second, false);
  });
  WaitForEnd(child);
  Read(child);
  return id;
}

void ChildWork::WaitForEnd(Child& child) {
  child.process.async_wait(asio::posix::stream_descriptor::wait_read,
                           [this, id = child.id](boost::system::error_code error) {
                             if (!error) OnEnd(id);
                           });
}

// Until the end of the pipe. Nobody else reads it: a read that is done and not yet told holds bytes.
void ChildWork::Read(Child& child) {
  child.pipe.async_read_some(asio::buffer(child.buffer),
                             [this, id = child.id](boost::system::error_code error, std::size_t size) {
                               const auto it = children_.find(id);
                               if (it == children_.end()) return;
                               Child& child = *it->second;
                               child.output.append(child.buffer.data(), size);
                               if (!error && child.output.size() <= kOutputBytesMax) return Read(child);
                               child.heard_out = true;
                               if (child.over) OnEnd(id);
                             });
}

// Tells when the process is over and all that it wrote has been read, in whichever order that is seen.
void ChildWork::OnEnd(Id id) {
  const auto it = children_.find(id);
  if (it == children_.end()) return;
  Child& child = *it->second;
  if (!IsOver(child.process.native_handle())) return WaitForEnd(child);
  child.over = true;
  if (!child.heard_out) return;
  int status = 0;
  const pid_t reaped = ::waitpid(child.pid, &status, WNOHANG);
  child.end = reaped == child.pid ? WordsOf(status) : "not known how";
  const std::unique_ptr<Child> ended = std::move(it->second);
  children_.erase(it);
  Tell(*ended, true);
}

void ChildWork::Tell(Child& child, bool in_time) {
  child.timer.cancel();
  // (It may be gone when its owner has heard.)
  const Outcome outcome{child.output, in_time, child.end};
  if (const Done done = std::exchange(child.done, nullptr)) done(outcome);
}

// Its end is still waited for, by nobody but this.
void ChildWork::GiveUp(Child& child) { ::kill(child.pid, SIGKILL); }

void ChildWork::Cancel(Id id) {
  const auto it = children_.find(id);
  if (it == children_.end()) return;
  it->second->done = nullptr;
  it->second->timer.cancel();
  GiveUp(*it->second);
}

bool ChildWork::IsThere(Id id) const {
  const auto it = children_.find(id);
  return it != children_.end() && !IsOver(it->second->process.native_handle());  // its end may not be heard yet
}

void ChildWork::Stop() {
  for (auto& [id, child] : children_) {
    ::kill(child->pid, SIGKILL);
    ::waitpid(child->pid, nullptr, WNOHANG);  // one that hangs in the kernel is left to the next parent
  }
  children_.clear();
}

}  // namespace glim::nodeagent
