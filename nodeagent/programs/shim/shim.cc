#include "nodeagent/programs/shim/shim.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>

#include "nodeagent/os/unified_group.h"
#include "nodeagent/task/sealed_file.h"
#include "nodeagent/task/shim_control.h"
#include "sdk/io/io_error.h"

namespace glim::nodeagent {
namespace {

// A process that forks may slip through one look at /proc, and one that hangs in the kernel goes when it can: looked
// for again and again, ever more rarely.
constexpr std::int64_t kKillPauseFirstMs = 20;
constexpr std::int64_t kKillPauseMaxMs = 1000;
constexpr std::size_t kMembersMax = 100'000;
constexpr int kSaveAgainMs = 500;
constexpr std::int64_t kSpareBytes = 1 << 16;  // a status of as many ranks as a task may have
constexpr useconds_t kSavePauseFirstUs = 20'000;
constexpr useconds_t kSavePauseLongestUs = 2'000'000;
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr int kReadsPerTurn = 16;  // then another rank, or a signal, has its turn

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// For pauses: never set back.
std::int64_t NowTicks() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

int ExitCode(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

Shim::Shim(TaskPaths paths, LaunchSpec spec)
    : paths_(std::move(paths)),
      spec_(std::move(spec)),
      spare_(paths_.status() + ".spare", kSpareBytes),
      last_spare_(paths_.status() + ".last-spare", kSpareBytes) {}

Status Shim::Run() {
  if (Status status = Start(); !status.ok()) return status;
  while (!childless_ || !Drained()) {
    std::vector<pollfd> waits = {{signals_.get(), POLLIN, 0}, {container_ ? container_->control() : -1, POLLIN, 0}};
    for (const Rank& rank : ranks_) waits.push_back({rank.process.output.get(), POLLIN, 0});  // -1: ignored
    const int ready = ::poll(waits.data(), waits.size(), childless_ ? 0 : PauseMs());
    if (ready < 0 && errno != EINTR) return Status(StatusCode::kInternal, std::string("poll: ") + std::strerror(errno));
    HandleSignals();
    for (Rank& rank : ranks_) {
      if (rank.process.output) ReadOutput(rank);
    }
    Reap();
    if (killing_ && !childless_ && NowTicks() >= next_kill_ms_) KillAgain();
    if (request_ && !request_->is_over() && !childless_) request_->Continue(NowTicks());
    if (unsaved_ && !childless_) SaveStatus();
  }
  if (container_) EndContainer();
  status_.ended = true;
  SaveLastStatus();
  return Status::Ok();
}

Status Shim::Start() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (int signal : {SIGCHLD, SignalRanksSignal(), TerminateSignal(), KillSignal()}) sigaddset(&wanted, signal);
  signals_.Reset(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!signals_) return FileError("open", "signalfd", errno);
  // Without them the status is written when there is room.
  (void)spare_.Take();
  (void)last_spare_.Take();
  StartRanks();
  SaveStatus();
  Reap();
  return Status::Ok();
}

void Shim::StartRanks() {
  if (Status status = OpenLogs(); !status.ok()) {
    status_.start_failed = true;
    status_.message = status.message();
    return;
  }
  if (spec_.container) return StartContainer();
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Result<RankProcess> process = StartRank(spec_, spec_.ranks[i]);
    if (!process.ok()) {
      status_.start_failed = true;
      status_.fault = FaultOf(process.status());
      status_.message = "rank " + std::to_string(spec_.ranks[i].rank) + ": " + WithFix(process.status());
      killing_ = true;
      return;
    }
    ranks_[i].process = std::move(*process);
    status_.ranks.push_back({ranks_[i].process.rank, ranks_[i].process.pid, false, 0, 0});
  }
  status_.started = true;
}

Status Shim::OpenLogs() {
  ranks_.reserve(spec_.ranks.size());
  for (const RankLaunch& launch : spec_.ranks) {
    LogWriter log(LogPath(spec_.log_folder, launch.rank), spec_.log_limits);
    if (Status status = log.Open(); !status.ok()) {
      return Status(status.code(), "rank " + std::to_string(launch.rank) + ": " + status.message());
    }
    ranks_.push_back({std::move(log), {}});
  }
  return Status::Ok();
}

void Shim::StartContainer() {
  std::vector<RankProcess> processes;
  Result<std::unique_ptr<Container>> container = Container::Start(spec_, &processes);
  if (!container.ok()) {
    status_.start_failed = true;
    status_.fault = FaultOf(container.status());
    status_.message = container.status().message();
    return;
  }
  container_ = std::move(*container);
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    status_.ranks.push_back({processes[i].rank, processes[i].pid, false, 0, 0});
    ranks_[i].process = std::move(processes[i]);
  }
  status_.started = true;
}

void Shim::HandleSignals() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SignalRanksSignal()) AskToLeave(ToSignalOrder(info.ssi_int));
    if (signal == TerminateSignal()) {
      SignalAll(SIGTERM);
      if (request_) request_->LetGoOn();
      request_.reset();
    }
    if (signal == KillSignal() && !killing_) {
      killing_ = true;
      next_kill_ms_ = 0;
    }
  }
}

void Shim::Reap() {
  bool changed = NoteContainerExits();
  for (;;) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid < 0 && errno == ECHILD) childless_ = true;
    if (pid <= 0) break;
    if (container_) continue;
    for (std::size_t i = 0; i < status_.ranks.size(); ++i) {
      if (status_.ranks[i].pid != pid || status_.ranks[i].exited) continue;
      NoteExit(i, wait_status);
      changed = true;
    }
  }
  // Without children the end follows at once and is written with the exits.
  if (changed && !childless_) SaveStatus();
}

void Shim::NoteExit(std::size_t index, int wait_status) {
  RankStatus& rank = status_.ranks[index];
  rank.exited = true;
  rank.exited_at_ms = NowMs();
  rank.exit_code = ExitCode(wait_status);
  // Its last words are in the log before its exit is told: the agent reads there why it failed.
  if (ranks_[index].process.output) ReadOutput(ranks_[index]);
  if (status_.exit_code == 0) status_.exit_code = rank.exit_code;
}

// True when there was one.
bool Shim::NoteContainerExits() {
  if (!container_) return false;
  std::vector<std::size_t> exited;
  for (const Container::Exit& exit : container_->TakeExits()) {
    if (exit.rank >= status_.ranks.size() || status_.ranks[exit.rank].exited) continue;
    NoteExit(exit.rank, exit.wait_status);
    exited.push_back(exit.rank);
  }
  if (!exited.empty()) NoteMemoryKills(exited);
  return !exited.empty();
}

// Told with the exit that it caused. `exited`: the ranks that ended just now.
void Shim::NoteMemoryKills(const std::vector<std::size_t>& exited) {
  const Container::MemoryKills found = container_->CountMemoryKills();
  if (found.kills == 0) return;
  if (found.own_limit && found.kills > memory_kills_) {
    for (const std::size_t i : exited) {
      // A shell in between tells the signal of what it ran as its own status.
      if (status_.ranks[i].exit_code == 128 + SIGKILL) status_.ranks[i].out_of_memory = true;
    }
  }
  memory_kills_ = found.kills;
  status_.out_of_memory = found.own_limit;
  status_.message = "out of memory: the kernel killed " + std::to_string(found.kills) + " process(es) of the task";
  const TaskLimits& limits = spec_.limits;
  if (!found.own_limit) status_.message += ", for want of memory outside of the task's own limit";
  if (limits.memory_bytes == 0 || !found.own_limit) return;
  const char* which = limits.memory_by_default ? " at all that tasks have on this node, " : " at limits.memory, ";
  status_.message += which + std::to_string(limits.memory_bytes >> 20) + " MiB";
}

// Its first process has ended, and with it all the others.
void Shim::EndContainer() {
  NoteContainerExits();
  std::vector<std::size_t> exited;
  for (std::size_t i = 0; i < status_.ranks.size(); ++i) {
    if (status_.ranks[i].exited) continue;
    NoteExit(i, SIGKILL);
    exited.push_back(i);
  }
  NoteMemoryKills(exited);
  container_->Remove();
}

void Shim::ReadOutput(Rank& rank) {
  char buffer[kReadBytes];
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t n = ::read(rank.process.output.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN && !childless_) return;
    if (n <= 0) {
      // The end; or nobody of ours is left who could write, and somebody else's copy of the pipe is not waited for.
      rank.process.output.Reset();
      return;
    }
    rank.log.Write(std::string_view(buffer, static_cast<std::size_t>(n)));
    if (status_.first_output_ms == 0) NoteFirstOutput();
  }
}

bool Shim::Drained() const {
  for (const Rank& rank : ranks_) {
    if (rank.process.output) return false;
  }
  return true;
}

// Those in its group, and those below the shim: a task of root's may have moved a process out of the group. Without
// what is Glim's own in it.
std::vector<ProcessInfo> Shim::TaskProcesses() const {
  std::vector<ProcessInfo> processes = Descendants(ListProcesses(), ::getpid());
  std::set<pid_t> known = {::getpid()};
  for (const ProcessInfo& process : processes) known.insert(process.pid);
  if (!spec_.group.empty()) {
    for (const pid_t pid : GroupMembers(spec_.group, kMembersMax)) {
      const auto process = known.contains(pid) ? std::nullopt : ReadProcess(pid);
      if (process && !process->gone) processes.push_back(*process);
    }
  }
  if (container_) std::erase_if(processes, [&](const ProcessInfo& one) { return one.pid == container_->init(); });
  return processes;
}

void Shim::SignalAll(int signal) {
  if (signal == SIGKILL && !spec_.group.empty()) KillGroup(spec_.group);
  for (const ProcessInfo& process : TaskProcesses()) SignalProcess(process, signal);
}

// How long to wait for anything else; -1: as long as it takes.
int Shim::PauseMs() const {
  if (!killing_ && request_ && !request_->is_over()) return LeaveRequest::kPauseMs;
  if (!killing_) return unsaved_ ? kSaveAgainMs : -1;
  return static_cast<int>(std::clamp<std::int64_t>(next_kill_ms_ - NowTicks(), 0, kKillPauseMaxMs));
}

void Shim::KillAgain() {
  SignalAll(SIGKILL);
  kill_pause_ms_ = std::clamp(kill_pause_ms_ * 2, kKillPauseFirstMs, kKillPauseMaxMs);
  next_kill_ms_ = NowTicks() + kill_pause_ms_;
}

void Shim::AskToLeave(const SignalOrder& order) {
  if (request_) request_->LetGoOn();
  std::set<pid_t> ranks;
  for (const RankStatus& rank : status_.ranks) {
    if (!rank.exited) ranks.insert(rank.pid);
  }
  request_.emplace(
      order, [this] { return TaskProcesses(); }, ranks, NowTicks());
}

void Shim::NoteFirstOutput() {
  status_.first_output_ms = NowMs();
  SaveStatus();
}

// Not flushed: nobody waits for the disk between a task's end and its node's next. The agent does that later.
void Shim::SaveStatus() {
  const Status status = spare_.Write(paths_.status(), SealObject(ToJson(status_)), Durability::kProcess);
  (void)spare_.Take();
  // A full disk must not end the supervision of a task: it is tried again, and told once.
  if (!status.ok() && !unsaved_) {
    std::fprintf(stderr, "glim-shim: task=%s %s\n", spec_.task.c_str(), status.message().c_str());
  }
  unsaved_ = !status.ok() && status.code() != StatusCode::kNotFound;  // without its folder nobody asks for it any more
}

// Repeated until it is written: whoever ended well must not be taken for lost.
void Shim::SaveLastStatus() {
  SaveStatus();
  if (unsaved_ && last_spare_.held()) {
    unsaved_ = !last_spare_.Write(paths_.status(), SealObject(ToJson(status_)), Durability::kProcess).ok();
  }
  for (useconds_t pause = kSavePauseFirstUs; unsaved_; pause = std::min(2 * pause, kSavePauseLongestUs)) {
    ::usleep(pause);
    SaveStatus();
  }
  spare_.Drop();
  last_spare_.Drop();
}

Status ReportUnstartable(const TaskPaths& paths, const std::string& message) {
  TaskStatus status;
  status.start_failed = true;
  status.ended = true;
  status.message = message;
  return WriteSealed(paths.status(), ToJson(status), Durability::kProcess);
}

}  // namespace glim::nodeagent
