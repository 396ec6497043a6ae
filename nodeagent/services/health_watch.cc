#include "nodeagent/services/health_watch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nodeagent/health/conditions.h"
#include "nodeagent/health/wire/health_state.h"
#include "nodeagent/os/spawn_process.h"
#include "sdk/base/printable.h"
#include "sdk/io/unique_fd.h"
#include "sdk/log/log.h"
#include "sdk/log/quoted.h"

namespace glim::nodeagent {
namespace {

namespace asio = boost::asio;
using health::Finding;
using health::HealthLine;

Finding NobodyLooks() {
  Finding finding;
  finding.check = "health_blind";
  finding.device = "glim-health";
  finding.text = "glim-health has said nothing for too long: the agent starts it again and again";
  return finding;
}

TimePoint WallClock() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return TimePoint{std::chrono::duration_cast<std::chrono::milliseconds>(wall).count()};
}

}  // namespace

struct HealthWatch::Child {
  explicit Child(asio::io_context& io) : pipe(io) {}

  pid_t pid = 0;
  asio::posix::stream_descriptor pipe;
  std::array<char, 4096> buffer{};
  std::string line;       // what has come of it
  bool too_long = false;  // the rest of that line is not read
};

HealthWatch::HealthWatch(asio::io_context& io, std::vector<std::string> command, HealthTimes times,
                         std::function<void()> changed)
    : io_(io),
      command_(std::move(command)),
      times_(times),
      changed_(std::move(changed)),
      launch_timer_(io),
      silence_timer_(io),
      pause_(times.first_pause) {}

HealthWatch::~HealthWatch() { Stop(); }

void HealthWatch::Start() {
  if (command_.empty()) {
    LogInfo("event=no_health note=\"nobody looks after this node's hardware: --health\"");
    return;
  }
  WatchForSilence();
  Launch();
}

void HealthWatch::Stop() {
  stopped_ = true;
  launch_timer_.cancel();
  silence_timer_.cancel();
  End(SIGTERM);  // it keeps what it remembers
}

void HealthWatch::End(int signal) {
  if (!child_) return;
  ::kill(child_->pid, signal);
  ended_.push_back(child_->pid);
  child_.reset();
  Reap();
}

void HealthWatch::Reap() {
  std::erase_if(ended_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

void HealthWatch::Launch() {
  Reap();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return LaunchLater();
  UniqueFd read(ends[0]);
  const UniqueFd write(ends[1]), none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!none || ::fcntl(read.get(), F_SETFL, O_NONBLOCK) != 0) return LaunchLater();
  SpawnPlan plan;
  plan.arguments = command_;
  plan.fds = {{none.get(), 0}, {write.get(), 1}, {STDERR_FILENO, 2}};
  pid_t pid = 0;
  if (const int error = SpawnProcess(plan, &pid); error != 0) {
    if (!complained_) LogError("event=health_not_started program={} error={}", command_[0], std::strerror(error));
    complained_ = true;
    return LaunchLater();
  }
  child_ = std::make_unique<Child>(io_);
  child_->pid = pid;
  child_->pipe.assign(read.Release());
  ++number_;
  told_.clear();
  Read();
}

void HealthWatch::LaunchLater() {
  launch_timer_.expires_after(pause_);
  pause_ = std::min(pause_ * 2, times_.longest_pause);
  launch_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) Launch();
  });
}

void HealthWatch::Read() {
  child_->pipe.async_read_some(asio::buffer(child_->buffer),
                               [this, number = number_](boost::system::error_code error, std::size_t size) {
                                 if (stopped_ || !child_ || number != number_) return;
                                 if (error) return OnEnd();
                                 OnBytes(size);
                                 if (child_) Read();
                               });
}

void HealthWatch::OnBytes(std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const char c = child_->buffer[i];
    if (c != '\n') {
      if (child_->line.size() < health::kLineBytesMax) {
        child_->line += c;
      } else {
        child_->too_long = true;
      }
      continue;
    }
    const std::string line = std::exchange(child_->line, "");
    OnLine(std::exchange(child_->too_long, false) ? "" : line);
  }
}

void HealthWatch::OnLine(const std::string& text) {
  std::optional<HealthLine> line = health::ParseHealthLine(text);
  if (!line) {
    if (!complained_) LogWarning("event=health_line_not_understood line=\"{}\"", Printable(text));
    complained_ = true;
    return;
  }
  boot_ = line->boot;
  const Key key(line->finding.check, line->finding.device);
  switch (line->kind) {
    case HealthLine::Kind::kEvent: return OnEvent(std::move(*line));
    case HealthLine::Kind::kAlive: return OnAlive(line->complete);
    case HealthLine::Kind::kGpus: return OnGpus(line->gpus);
    case HealthLine::Kind::kConditionOver:
      told_.erase(key);
      if (conditions_.erase(key) > 0) changed_();
      return;
    case HealthLine::Kind::kCondition: break;
  }
  told_.insert(key);
  if (!conditions_.contains(key) && conditions_.size() >= health::kConditionsMax) return;
  const bool is_new = !conditions_.contains(key);
  conditions_[key] = std::move(line->finding);
  if (!is_new) return;  // another value of it is told with the next report
  LogWarning("event=health_condition check={} device={} text={}", Quoted(key.first), Quoted(key.second),
             Quoted(conditions_[key].text));
  changed_();
}

void HealthWatch::OnEvent(HealthLine line) {
  const auto [it, is_new] = events_.try_emplace(line.seq, std::move(line.finding));
  if (!is_new) return;
  const Finding& finding = it->second;
  LogWarning("event=health check={} device={} code={} text={}", Quoted(finding.check), Quoted(finding.device),
             finding.code, Quoted(finding.text));
  if (events_.size() > health::kEventsKept) events_.erase(events_.begin());
  changed_();
}

// What is told stands for a while, so that reports of busy nodes do not change with each look.
void HealthWatch::OnGpus(const std::vector<health::GpuUse>& gpus) {
  gpus_seen_ = std::chrono::steady_clock::now();
  if (std::none_of(gpus.begin(), gpus.end(), [](const health::GpuUse& gpu) { return gpu.busy; })) return;
  const TimePoint now = WallClock();
  const bool is_new = now < gpus_busy_at_ || (now - gpus_busy_at_).ms >= times_.gpus_busy_every.count();
  if (is_new) gpus_busy_at_ = now;
}

std::optional<TimePoint> HealthWatch::GpusBusyAt() const {
  if (!gpus_seen_ || std::chrono::steady_clock::now() - *gpus_seen_ > times_.gpus_silence) return std::nullopt;
  return gpus_busy_at_;
}

void HealthWatch::OnAlive(bool complete) {
  pause_ = times_.first_pause;
  Reap();
  WatchForSilence();
  bool other = std::exchange(blind_, false);
  if (complete)
    other = std::erase_if(conditions_, [&](const auto& entry) { return !told_.contains(entry.first); }) > 0 || other;
  if (other) changed_();
}

void HealthWatch::WatchForSilence() {
  silence_timer_.expires_after(times_.silence);
  silence_timer_.async_wait([this](boost::system::error_code error) {
    if (!error && !stopped_) OnSilence();
  });
}

void HealthWatch::OnSilence() {
  WatchForSilence();
  if (!std::exchange(blind_, true)) {
    LogError("event=health_blind note=\"glim-health has said nothing for {} ms\"", times_.silence.count());
    changed_();
  }
  if (!child_) return;
  End(SIGKILL);
  LaunchLater();
}

// The end of the pipe: the process has ended, or is about to.
void HealthWatch::OnEnd() {
  LogWarning("event=health_ended note=\"glim-health is started again\"");
  End(SIGKILL);
  LaunchLater();
}

void HealthWatch::Report(v1::NodeReport* report) const {
  if (command_.empty()) return;
  report->set_health_boot(boot_);
  for (const auto& [seq, finding] : events_) {
    v1::HealthEvent& event = *report->add_health_events();
    event.set_check(finding.check);
    event.set_device(finding.device);
    event.set_code(finding.code);
    event.set_text(finding.text);
    event.set_at_ms(finding.at_ms);
    event.set_seq(seq);
    event.set_value(finding.value);
    event.set_expected(finding.expected);
    event.set_unit(finding.unit);
    event.set_pid(finding.pid);
  }
  const auto add = [&](const Finding& finding) {
    v1::HealthCondition& condition = *report->add_health_conditions();
    condition.set_check(finding.check);
    condition.set_device(finding.device);
    condition.set_text(finding.text);
    condition.set_value(finding.value);
    condition.set_expected(finding.expected);
    condition.set_unit(finding.unit);
  };
  if (blind_) add(NobodyLooks());
  for (const auto& [key, finding] : conditions_) add(finding);
}

}  // namespace glim::nodeagent
