#include "nodeagent/services/replica_supervisor.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "nodeagent/os/run_program.h"
#include "nodeagent/task/task_files.h"
#include "sdk/checkpoint/replica/token.h"
#include "sdk/io/folders.h"
#include "sdk/io/io_error.h"
#include "sdk/io/read_file.h"
#include "sdk/io/write_file.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPatience{10'000};  // the agent's, before it connects to the scheduler
constexpr milliseconds kTermToKill{5'000};
constexpr milliseconds kLookFirst{5}, kLookMax{500};
constexpr milliseconds kPauseFirst{1'000}, kPauseMax{60'000};
constexpr milliseconds kLogLook{60'000};
constexpr std::uintmax_t kLogBytesMax = 1024 * 1024;
constexpr std::size_t kLogKeptBytes = 256 * 1024;
constexpr std::size_t kSmallFileBytesMax = 64 * 1024;
constexpr const char* kMarker = "GLIM_REPLICA_FOLDER=";

// Up to `bytes_max` from the end.
std::string Tail(const std::string& path, std::size_t bytes_max) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg()));
  std::string text(std::min(size, bytes_max), '\0');
  file.seekg(static_cast<std::streamoff>(size - text.size()));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string LastLine(const std::string& path) {
  std::string text = Tail(path, 4096);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

void SignalProcessOf(int pidfd, int signal) { (void)::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0); }

}  // namespace

ReplicaSupervisor::ReplicaSupervisor(boost::asio::io_context& io, ReplicaOptions options, std::string boot_id,
                                     std::function<void()> on_news)
    : options_(std::move(options)),
      boot_id_(std::move(boot_id)),
      on_news_(std::move(on_news)),
      io_(io),
      process_(io),
      timer_(io),
      patience_(io),
      pause_(kPauseFirst) {}

Status ReplicaSupervisor::Start() {
  std::error_code error;
  if (wanted() || std::filesystem::exists(options_.folder, error)) {
    if (Status status = MakePrivateFolder(options_.folder); !status.ok()) return status;
    const Result<std::string> text = ReadFile(Path("process.json"), kSmallFileBytesMax);
    const Result<ProcessIdentity> identity =
        text.ok() ? ParseProcessIdentity(*text) : Result<ProcessIdentity>(text.status());
    UniqueFd process = identity.ok() ? OpenProcess(*identity, boot_id_) : UniqueFd();
    KillStrays(process ? identity->pid : 0);
    if (process) Watch(std::move(process), identity->pid);
  }
  if (!wanted()) {
    if (process_.is_open()) End();
    boost::asio::post(io_, [this] {
      if (!stopped_) on_news_();
    });
    return Status::Ok();
  }
  patience_.expires_after(kPatience);
  patience_.async_wait([this](boost::system::error_code failure) {
    if (failure || stopped_ || !address_.empty()) return;
    LogError("event=replica_missing wait_ms={} note=\"the agent goes on without it\" log={}", kPatience.count(),
             Quoted(LastLine(Path("log"))));
    on_news_();
  });
  const Result<std::string> before = ReadFile(Path("options"), kSmallFileBytesMax);
  const bool same = before.ok() && *before == Describe();
  if (same) listen_again_ = ReadAddress();
  if (!process_.is_open()) {
    Spawn();
  } else if (same) {
    Adopt();
  } else {
    LogWarning("event=replica_ended pid={} note=\"other options: what it held is lost\"", pid_);
    End();
  }
  return Status::Ok();
}

void ReplicaSupervisor::Stop() {
  stopped_ = true;
  boost::system::error_code ignored;
  process_.close(ignored);
  timer_.cancel();
  patience_.cancel();
}

std::vector<std::string> ReplicaSupervisor::Command(const std::string& listen) const {
  std::vector<std::string> words = {
      options_.program, "serve",        "--memory",      std::to_string(options_.memory_bytes),
      "--listen",       listen,         "--secret-file", options_.secret_file,
      "--address-file", Path("address")};
  if (!options_.tls.empty()) words.insert(words.end(), {"--ucx-tls", options_.tls});
  if (!options_.device.empty()) words.insert(words.end(), {"--ucx-net-devices", options_.device});
  if (options_.service_level >= 0) {
    words.insert(words.end(), {"--service-level", std::to_string(options_.service_level)});
  }
  return words;
}

// What an operator may have told UCX beside our options, and the mark by which a lost one is found.
std::vector<std::string> ReplicaSupervisor::Environment() const {
  std::vector<std::string> variables = {kMarker + options_.folder};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("UCX_")) variables.emplace_back(*entry);
  }
  std::sort(variables.begin(), variables.end());
  return variables;
}

std::string ReplicaSupervisor::Describe() const {
  std::string text;
  for (const std::string& word : Command(options_.listen)) text += word + "\n";
  for (const std::string& variable : Environment()) text += variable + "\n";
  // Another secret makes other tokens, which the one that runs would refuse. (No job has such a name.)
  return text + checkpoint::JobToken(options_.secret, "of the service's options") + "\n";
}

std::string ReplicaSupervisor::ReadAddress() const {
  const Result<std::string> text = ReadFile(Path("address"), kSmallFileBytesMax);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

// An agent that was killed between starting a service and noting which one has left it behind: it would hold its memory
// and its port for good.
void ReplicaSupervisor::KillStrays(pid_t keep) const {
  const std::vector<ProcessInfo> all = ListProcesses();
  std::set<pid_t> known = {keep};
  if (keep > 0) {
    for (const ProcessInfo& process : Descendants(all, keep)) known.insert(process.pid);
  }
  for (const ProcessInfo& process : Marked(all, kMarker + options_.folder)) {
    if (known.contains(process.pid)) continue;
    LogWarning("event=replica_stray_killed pid={}", process.pid);
    SignalProcess(process, SIGKILL);
  }
}

void ReplicaSupervisor::Watch(UniqueFd process, pid_t pid) {
  pid_ = pid;
  since_ = std::chrono::steady_clock::now();
  process_.assign(process.Release());
  process_.async_wait(boost::asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
    if (!error && !stopped_) OnExit();
  });
}

void ReplicaSupervisor::Later(milliseconds pause, void (ReplicaSupervisor::*step)()) {
  timer_.expires_after(pause);
  timer_.async_wait([this, step, state = state_](boost::system::error_code error) {
    if (!error && !stopped_ && state_ == state) (this->*step)();
  });
}

void ReplicaSupervisor::Adopt() {
  LogInfo("event=replica_adopted pid={}", pid_);
  state_ = State::kStarting;
  look_ = kLookFirst;
  AwaitAddress();
}

void ReplicaSupervisor::End() {
  const bool again = state_ == State::kEnding;
  state_ = State::kEnding;
  SignalProcessOf(process_.native_handle(), again ? SIGKILL : SIGTERM);
  Later(kTermToKill, &ReplicaSupervisor::End);
}

void ReplicaSupervisor::Spawn() {
  BoundLog();
  state_ = State::kStarting;
  look_ = kLookFirst;
  if (Status status = StartService(); !status.ok()) {
    LogError("event=replica_not_started error={}", Quoted(status.message()));
    return Pause();
  }
  AwaitAddress();
}

Status ReplicaSupervisor::StartService() {
  std::error_code ignored;
  std::filesystem::remove(Path("address"), ignored);
  std::filesystem::remove(Path("process.json"), ignored);
  Status status = WriteFileAtomically(Path("options"), Describe(), Durability::kProcess);
  if (!status.ok()) return status;
  const Result<pid_t> pid =
      StartProgram(Command(listen_again_.empty() ? options_.listen : listen_again_), Environment(), Path("log"));
  if (!pid.ok()) return pid.status();
  UniqueFd process(OpenPidfd(*pid));
  if (!process) {
    const int reason = errno;
    ::kill(*pid, SIGKILL);
    (void)::waitpid(*pid, nullptr, 0);
    return FileError("watch", "glim-replica", reason);
  }
  const std::optional<ProcessInfo> info = ReadProcess(*pid);
  Watch(std::move(process), *pid);
  const ProcessIdentity identity{boot_id_, *pid, info ? info->start_ticks : 0};
  status = WriteFileAtomically(Path("process.json"), ToJson(identity), Durability::kProcess);
  // The next agent does not know it then, and kills it as a stray.
  if (!status.ok()) LogError("event=replica_not_noted error={}", Quoted(status.message()));
  return Status::Ok();
}

void ReplicaSupervisor::AwaitAddress() {
  if (const std::string address = ReadAddress(); !address.empty()) return Serve(address);
  Later(look_, &ReplicaSupervisor::AwaitAddress);
  look_ = std::min(look_ * 2, kLookMax);
}

void ReplicaSupervisor::Serve(const std::string& address) {
  state_ = State::kServing;
  listen_again_ = address;
  patience_.cancel();
  LogInfo("event=replica_serving address={} pid={} memory_bytes={}", address, pid_, options_.memory_bytes);
  if (std::exchange(address_, address) != address) {
    boost::asio::post(io_, [this] {
      if (!stopped_) on_news_();
    });
  }
  BoundLogLater();
}

void ReplicaSupervisor::OnExit() {
  (void)::waitpid(pid_, nullptr, WNOHANG);  // an earlier agent's is not our child
  boost::system::error_code ignored;
  process_.close(ignored);
  const State before = std::exchange(state_, State::kNone);
  if (before == State::kEnding) {
    if (wanted()) Spawn();
    return;
  }
  if (before == State::kServing) {
    LogError("event=replica_died pid={} note=\"what it held is lost\" log={}", pid_, Quoted(LastLine(Path("log"))));
  } else {
    LogError("event=replica_failed pid={} log={}", pid_, Quoted(LastLine(Path("log"))));
    listen_again_.clear();  // somebody else may have that port now
  }
  if (std::chrono::steady_clock::now() - since_ >= kPauseMax) pause_ = kPauseFirst;
  Pause();
}

void ReplicaSupervisor::Pause() {
  state_ = State::kPausing;
  Later(pause_, &ReplicaSupervisor::Spawn);
  pause_ = std::min(pause_ * 2, kPauseMax);
}

// It has the file open, for appending: cut, not renamed.
void ReplicaSupervisor::BoundLog() const {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(Path("log"), error);
  if (error || bytes <= kLogBytesMax) return;
  (void)WriteFileAtomically(Path("log.old"), Tail(Path("log"), kLogKeptBytes), Durability::kProcess);
  (void)::truncate(Path("log").c_str(), 0);
}

void ReplicaSupervisor::BoundLogLater() {
  BoundLog();
  Later(kLogLook, &ReplicaSupervisor::BoundLogLater);
}

}  // namespace glim::nodeagent
