#include "nodeagent/programs/health/journal.h"

#include <algorithm>
#include <utility>

#include "nodeagent/os/boot_clock.h"

namespace glim::nodeagent::health {
namespace {

constexpr std::int64_t kRemembersEveryMs = 10'000;  // without an event: the memory of rules alone
constexpr std::chrono::seconds kWriteLimit{1};      // then it is told unwritten: late is worse than twice

std::int64_t WallMs() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(wall).count();
}

}  // namespace

Journal::Journal(const std::string& state_file, const std::string& boot)
    : boot_(boot), writer_(state_file), state_(ReadHealthState(state_file, boot)) {}

Memory Journal::MemoryOf(const std::string& source) {
  const std::lock_guard lock(mutex_);
  return state_.memory[source];
}

std::optional<std::uint64_t> Journal::KernelSeq() {
  const std::lock_guard lock(mutex_);
  return state_.kernel_seq;
}

void Journal::TakeLook(const std::string& source, Looks looks, const Memory& memory) {
  const std::lock_guard lock(mutex_);
  Memory& kept = state_.memory[source];
  if (kept != memory) {
    kept = memory;
    unwritten_ = true;
  }
  std::move(looks.events.begin(), looks.events.end(), std::back_inserter(new_events_));
  conditions_.Set(source, std::move(looks.conditions));
  if (!looks.gpus.empty()) new_gpus_ = std::move(looks.gpus);
  news_ = true;
  changed_.notify_all();
}

void Journal::TakeKernel(std::vector<Finding> events, std::optional<std::uint64_t> position) {
  const std::lock_guard lock(mutex_);
  if (position && position != state_.kernel_seq) {
    state_.kernel_seq = position;
    unwritten_ = true;
  }
  if (events.empty()) return;
  std::move(events.begin(), events.end(), std::back_inserter(new_events_));
  news_ = true;
  changed_.notify_all();
}

void Journal::SetConditions(const std::string& source, std::vector<Finding> conditions) {
  const std::lock_guard lock(mutex_);
  conditions_.Set(source, std::move(conditions));
  news_ = true;
  changed_.notify_all();
}

HealthLine Journal::LineOf(HealthLine::Kind kind, Finding finding) const {
  HealthLine line;
  line.kind = kind;
  line.finding = std::move(finding);
  line.boot = boot_;
  return line;
}

std::string Journal::KeptLines() {
  const std::lock_guard lock(mutex_);
  std::string lines;
  for (const HealthLine& event : state_.events) lines += ToText(event);
  return lines;
}

void Journal::Wait(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return news_; });
}

// A number is at least the milliseconds since the boot: also where the file is lost the numbers grow.
std::string Journal::TakeLines(bool last) {
  std::unique_lock lock(mutex_);
  news_ = false;
  std::string lines;
  const std::int64_t now_ms = BootNow().ms;
  const bool events = !new_events_.empty();
  for (Finding& finding : std::exchange(new_events_, {})) {
    if (finding.at_ms == 0) finding.at_ms = WallMs();
    HealthLine line = LineOf(HealthLine::Kind::kEvent, std::move(finding));
    const std::uint64_t before = state_.events.empty() ? 0 : state_.events.back().seq;
    line.seq = std::max(before + 1, static_cast<std::uint64_t>(now_ms));
    lines += ToText(line);
    state_.events.push_back(std::move(line));
    if (state_.events.size() > kEventsKept) state_.events.erase(state_.events.begin());
  }
  Conditions::Changes changes = conditions_.TakeChanges();
  for (Finding& finding : changes.over) lines += ToText(LineOf(HealthLine::Kind::kConditionOver, std::move(finding)));
  for (Finding& finding : changes.now) lines += ToText(LineOf(HealthLine::Kind::kCondition, std::move(finding)));
  if (!new_gpus_.empty()) {
    HealthLine line = LineOf(HealthLine::Kind::kGpus, {});
    line.gpus = std::exchange(new_gpus_, {});
    lines += ToText(line);
  }
  if (!events && !(unwritten_ && (last || now_ms - written_ms_ >= kRemembersEveryMs))) return lines;
  unwritten_ = false;
  written_ms_ = now_ms;
  HealthState state = state_;
  lock.unlock();
  writer_.Write(std::move(state), kWriteLimit);
  return lines;
}

}  // namespace glim::nodeagent::health
