#include "nodeagent/programs/shim/leave_request.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "sdk/io/read_file.h"

namespace glim::nodeagent {
namespace {

// What reads a program's output (`tee`) needs a moment after its end to write down the rest.
constexpr std::int64_t kLingerMs = 500;
// A helper that outlives its program does nothing if none of its threads ran for so long.
constexpr std::int64_t kIdleMs = 3000;
constexpr std::size_t kStatusBytesMax = 64 << 10;
constexpr std::size_t kCommandBytesMax = 4 << 20;
constexpr std::size_t kWordBytesMax = 256;

std::string FileOf(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

// A mask of /proc/PID/status: "SigCgt:\t0000000180004002".
bool HasSignal(const std::string& status, const char* field, int signal) {
  const std::size_t at = status.find("\n" + std::string(field) + ":");
  if (at == std::string::npos) return false;
  const std::uint64_t mask = std::strtoull(status.c_str() + at + 2 + std::string_view(field).size(), nullptr, 16);
  return (mask >> (signal - 1) & 1) != 0;
}

TaskProcess Look(const ProcessInfo& info, int signal) {
  TaskProcess process{info.pid, info.parent, "", "", false, false};
  std::error_code error;
  process.program = std::filesystem::read_symlink(FileOf(info.pid, "exe"), error).filename().string();
  if (const auto command = ReadFile(FileOf(info.pid, "cmdline"), kCommandBytesMax); command.ok()) {
    process.command = *command;
  }
  if (const auto status = ReadFile(FileOf(info.pid, "status"), kStatusBytesMax); status.ok()) {
    process.handles = HasSignal(*status, "SigCgt", signal) ||
                      (HasSignal(*status, "SigBlk", signal) && !HasSignal(*status, "SigIgn", signal));
  }
  const auto channel = ReadFile(FileOf(info.pid, "wchan"), kWordBytesMax);
  process.waits_for_child = channel.ok() && *channel == "do_wait";
  return process;
}

std::vector<TaskProcess> LookAt(const std::vector<ProcessInfo>& processes, int signal) {
  std::vector<TaskProcess> seen;
  for (const ProcessInfo& process : processes) seen.push_back(Look(process, signal));
  return seen;
}

std::vector<ProcessInfo> Pick(const std::vector<ProcessInfo>& processes, const std::vector<std::int32_t>& pids) {
  std::map<pid_t, const ProcessInfo*> by_pid;
  for (const ProcessInfo& process : processes) by_pid.emplace(process.pid, &process);
  std::vector<ProcessInfo> picked;
  for (const std::int32_t pid : pids) picked.push_back(*by_pid.at(pid));
  return picked;
}

// How often the threads of a process have been given a processor. None: one runs, or waits for a disk.
std::optional<std::uint64_t> SwitchesOf(pid_t pid) {
  std::uint64_t switches = 0;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(FileOf(pid, "task"), error)) {
    const auto status = ReadFile(thread.path().string() + "/status", kStatusBytesMax);
    if (!status.ok()) continue;  // it has just ended: that was a switch, which the others' sum lacks
    const auto value = [&](const std::string& field) {
      const std::size_t at = status->find("\n" + field + ":\t");
      return at == std::string::npos ? "" : status->c_str() + at + field.size() + 3;
    };
    if (const char state = *value("State"); state == 'R' || state == 'D') return std::nullopt;
    switches += std::strtoull(value("voluntary_ctxt_switches"), nullptr, 10);
    switches += std::strtoull(value("nonvoluntary_ctxt_switches"), nullptr, 10);
  }
  return switches;
}

bool HasEnded(const ProcessInfo& process) {
  const auto now = ReadProcess(process.pid);
  return !now || now->gone || now->start_ticks != process.start_ticks;
}

void SignalEach(const std::vector<ProcessInfo>& processes, int signal) {
  for (const ProcessInfo& process : processes) (void)SignalProcess(process, signal);
}

}  // namespace

LeaveRequest::LeaveRequest(const SignalOrder& order, List list, const std::set<pid_t>& ranks, std::int64_t now_ms)
    : order_(order), list_(std::move(list)), late_at_ms_(now_ms + order.late_ms) {
  const std::vector<ProcessInfo> processes = list_();
  const std::vector<TaskProcess> seen = LookAt(processes, order_.signal);
  const AskedProcesses found = order_.all ? AskAll(seen) : AskMain(seen, ranks);
  asked_ = Pick(processes, found.asked);
  stopped_ = Pick(processes, found.stopped);
  above_ = Pick(processes, found.above);
  beside_ = Pick(processes, found.beside);
  for (const ProcessInfo& helper : Pick(processes, found.helpers)) helpers_.push_back({helper, std::nullopt});
  SignalEach(stopped_, SIGSTOP);
  SignalEach(asked_, order_.signal);
  if (order_.all) phase_ = Phase::kOver;
}

void LeaveRequest::Continue(std::int64_t now_ms) {
  if (phase_ == Phase::kAsked) {
    std::erase_if(asked_, HasEnded);
    if (!asked_.empty() && !asked_late_ && now_ms >= late_at_ms_) AskThoseThatAreLate();
    if (asked_.empty()) EndThoseAbove(now_ms);
  } else if (phase_ == Phase::kLingering && now_ms >= beside_at_ms_) {
    SignalEach(beside_, order_.signal);
    phase_ = Phase::kHelpers;
  } else if (phase_ == Phase::kHelpers && now_ms >= helpers_at_ms_) {
    EndIdleHelpers(now_ms);
  }
}

void LeaveRequest::AskThoseThatAreLate() {
  asked_late_ = true;
  const std::vector<ProcessInfo> processes = list_();
  std::set<std::int32_t> asked;
  for (const ProcessInfo& process : asked_) asked.insert(process.pid);
  const std::vector<ProcessInfo> late = Pick(processes, AskLate(LookAt(processes, order_.signal), asked));
  SignalEach(late, order_.signal);
  asked_.insert(asked_.end(), late.begin(), late.end());
}

void LeaveRequest::EndThoseAbove(std::int64_t now_ms) {
  std::set<pid_t> roots;
  for (const ProcessInfo& process : stopped_) roots.insert(process.pid);
  for (const ProcessInfo& process : above_) roots.insert(process.pid);
  // What they have started since the request as well: a shell that was not stopped may have gone on. Each once: what
  // was there before is among them, too.
  std::set<std::pair<pid_t, std::uint64_t>> listed;
  for (const ProcessInfo& process : beside_) listed.emplace(process.pid, process.start_ticks);
  for (const ProcessInfo& process : WithDescendants(list_(), roots)) {
    const bool is_new = listed.emplace(process.pid, process.start_ticks).second;
    if (is_new && !roots.contains(process.pid)) beside_.push_back(process);
  }
  SignalEach(above_, order_.signal);
  SignalEach(stopped_, order_.signal);
  LetGoOn();
  beside_at_ms_ = now_ms + kLingerMs;
  phase_ = Phase::kLingering;
}

void LeaveRequest::EndIdleHelpers(std::int64_t now_ms) {
  std::erase_if(helpers_, [](const Helper& helper) { return HasEnded(helper.process); });
  std::erase_if(helpers_, [&](Helper& helper) {
    const auto before = helper.switches;
    helper.switches = SwitchesOf(helper.process.pid);
    return before && helper.switches == before && SignalProcess(helper.process, order_.signal);
  });
  helpers_at_ms_ = now_ms + kIdleMs;
  if (helpers_.empty()) phase_ = Phase::kOver;
}

void LeaveRequest::LetGoOn() {
  SignalEach(stopped_, SIGCONT);
  stopped_.clear();
}

}  // namespace glim::nodeagent
