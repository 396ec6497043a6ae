#include "nodeagent/services/log_export.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <utility>

#include "nodeagent/os/processes.h"
#include "nodeagent/os/run_program.h"
#include "sdk/base/system_path.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/unique_fd.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

constexpr const char* kCopied = "/copied";
constexpr std::size_t kWordsMax = 4096;

// $1: the logs here, $2: the root, $3: the attempt's folder in it. The root is never made: where it is not mounted, the
// node's own disk would fill. Who looks there sees whole files alone. Groups may read, others not.
constexpr const char* kScript = R"(set -e
umask 027
cd "$2"
mkdir -p "$3"
for log in "$1"/rank-*.log*; do
  [ -e "$log" ] || continue
  name=${log##*/}
  cat "$log" > "$3/.$name.tmp"
  mv -f "$3/.$name.tmp" "$3/$name"
done
)";

std::optional<LogExport::Attempt> AttemptOf(const std::string& name) {
  LogExport::Attempt attempt;
  const char* const end = name.data() + name.size();
  const auto job = std::from_chars(name.data(), end, attempt.job);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '-') return std::nullopt;
  const auto number = std::from_chars(job.ptr + 1, end, attempt.number);
  if (number.ec != std::errc() || number.ptr != end) return std::nullopt;
  return attempt;
}

std::string NameOf(const LogExport::Attempt& attempt) {
  return std::to_string(attempt.job) + "-" + std::to_string(attempt.number);
}

}  // namespace

LogExport::LogExport(boost::asio::io_context& io, std::string logs, LogExportTimes times,
                     std::function<bool(const Attempt&)> open)
    : io_(io), logs_(std::move(logs)), times_(times), open_(std::move(open)), limit_(io), again_(io) {}

std::string LogExport::FolderOf(const Attempt& attempt) const { return logs_ + "/" + NameOf(attempt); }

void LogExport::OnWelcome(const v1::Welcome& welcome) {
  root_ = welcome.logs_root();
  if (root_.empty()) return waiting_.clear();
  paused_ = false;
  again_.cancel();
  Scan();
  Next();
}

void LogExport::Scan() {
  std::error_code error;
  for (std::filesystem::directory_iterator it(logs_, error), end; !error && it != end; it.increment(error)) {
    const std::optional<Attempt> attempt = AttemptOf(it->path().filename().string());
    std::error_code none;
    if (attempt && !open_(*attempt) && !std::filesystem::exists(FolderOf(*attempt) + kCopied, none)) {
      waiting_.insert(*attempt);
    }
  }
}

void LogExport::TaskEnded(std::uint64_t job, std::uint32_t attempt) {
  const Attempt ended{job, attempt};
  std::error_code none;
  if (root_.empty() || open_(ended) || std::filesystem::exists(FolderOf(ended) + kCopied, none)) return;
  waiting_.insert(ended);
  Next();
}

void LogExport::Next() {
  while (!copy_ && !paused_ && !root_.empty()) {
    if (waiting_.empty()) std::swap(waiting_, failed_);
    if (waiting_.empty()) return;
    const Attempt attempt = *waiting_.begin();
    waiting_.erase(waiting_.begin());
    std::error_code none;
    if (!std::filesystem::exists(FolderOf(attempt), none)) continue;           // pruned meanwhile
    if (std::filesystem::exists(FolderOf(attempt) + kCopied, none)) continue;  // its end was told twice
    if (const Status begun = Begin(attempt); !begun.ok()) Failed(attempt, begun.message());
  }
}

Status LogExport::Begin(const Attempt& attempt) {
  std::error_code none;
  std::filesystem::remove(OutputFile(), none);
  const Result<pid_t> pid = StartProgram({"/bin/sh", "-c", kScript, "sh", FolderOf(attempt), root_, NameOf(attempt)},
                                         {kSystemPathVariable}, OutputFile());
  if (!pid.ok()) return pid.status();
  UniqueFd process(OpenPidfd(*pid));
  if (!process) {
    const int error = errno;
    ::kill(-*pid, SIGKILL);
    ::waitpid(*pid, nullptr, 0);
    return FileError("watch", "the copy of a log", error);
  }
  copy_.emplace(Copy{attempt, *pid, boost::asio::posix::stream_descriptor(io_, process.Release())});
  copy_->process.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                            [this](const boost::system::error_code& error) {
                              if (!error) OnEnd();
                            });
  limit_.expires_after(times_.limit);
  limit_.async_wait([this](const boost::system::error_code& error) {
    if (error || !copy_) return;
    copy_->late = true;
    LogWarning("event=log_copy_hangs attempt={} root={} note=\"killed; nothing is copied until it has gone\"",
               NameOf(copy_->attempt), Quoted(root_));
    ::kill(-copy_->pid, SIGKILL);
  });
  return Status::Ok();
}

void LogExport::OnEnd() {
  const Attempt attempt = copy_->attempt;
  const bool late = copy_->late;
  int status = 0;
  while (::waitpid(copy_->pid, &status, 0) < 0 && errno == EINTR) {
  }
  copy_.reset();
  limit_.cancel();
  if (late) {
    Failed(attempt, "it took longer than " + std::to_string(times_.limit.count() / 1000) + " s");
  } else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const Result<std::string> words = ReadFile(OutputFile(), kWordsMax);
    Failed(attempt, words.ok() ? words->substr(0, words->find('\n')) : "it was killed");
  } else {
    // Where this cannot be written the logs are copied once more: the same bytes.
    (void)WriteFileAtomically(FolderOf(attempt) + kCopied, root_ + "\n", Durability::kProcess);
    LogInfo("event=log_copied attempt={} root={}", NameOf(attempt), Quoted(root_));
  }
  Next();
}

void LogExport::Failed(const Attempt& attempt, const std::string& why) {
  LogWarning("event=log_not_copied attempt={} root={} error={}", NameOf(attempt), Quoted(root_), Quoted(why));
  failed_.insert(attempt);
  paused_ = true;
  again_.expires_after(times_.again);
  again_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    paused_ = false;
    Next();
  });
}

void LogExport::Stop() {
  root_.clear();
  waiting_.clear();
  failed_.clear();
  limit_.cancel();
  again_.cancel();
  if (!copy_) return;
  ::kill(-copy_->pid, SIGKILL);
  ::waitpid(copy_->pid, nullptr, WNOHANG);  // one that hangs in the kernel is left to the next parent
  copy_.reset();
}

}  // namespace glim::nodeagent
