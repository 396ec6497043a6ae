#include "scheduler/server/loop/pass_log.h"

#include <algorithm>
#include <variant>

namespace glim::server {
namespace {

constexpr char kReported[] = "node reported";
constexpr char kDeadline[] = "deadline";

template <typename... Of>
bool IsOneOf(const decltype(core::Event::what)& what) {
  return (std::holds_alternative<Of>(what) || ...);
}

// The smallest value that at least `percent` of a hundred do not exceed.
std::int64_t Percentile(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

int RankOf(const char* kind) { return kind == kDeadline ? 0 : kind == kReported ? 1 : 2; }

}  // namespace

const char* KindOf(const decltype(core::Event::what)& what) {
  if (IsOneOf<core::TimePassed, core::Overslept>(what)) return kDeadline;
  if (IsOneOf<core::NodeReported, core::SavesRemoved>(what)) return kReported;
  if (IsOneOf<core::SubmitJobs>(what)) return "job submitted";
  if (IsOneOf<core::CancelJob, core::CancelUserJobs>(what)) return "job cancelled";
  if (IsOneOf<core::SuspendJob, core::ResumeJob>(what)) return "job suspended or resumed";
  if (IsOneOf<core::NodeConnected, core::NodeDisconnected, core::NodeRefused>(what)) return "node came or went";
  if (IsOneOf<core::PolicyChanged>(what)) return "policy changed";
  if (IsOneOf<core::ChangeAccounts, core::ChangeIdentity, core::TokensUsed>(what)) return "users or quotas changed";
  if (IsOneOf<core::LeaderStarted>(what)) return "leader started";
  return "operator's change";
}

const char* WokenBy(const std::vector<core::Event>& batch) {
  const char* best = "nothing";
  int best_rank = -1;
  for (const core::Event& event : batch) {
    const char* const kind = KindOf(event.what);
    if (RankOf(kind) <= best_rank) continue;
    best_rank = RankOf(kind);
    best = kind;
  }
  return best;
}

void PassLog::Ring::Add(const Pass& one) {
  if (kept.size() < kPassesKept) {
    kept.push_back(one);
  } else {
    kept[count % kPassesKept] = one;
  }
  ++count;
}

Timings PassLog::Ring::Read() const {
  Timings timings;
  timings.count = count;
  timings.over = kept.size();
  if (kept.empty()) return timings;
  std::vector<std::int64_t> sorted;
  sorted.reserve(kept.size());
  for (const Pass& one : kept) sorted.push_back(one.us);
  std::sort(sorted.begin(), sorted.end());
  timings.last_us = newest().us;
  timings.p50_us = Percentile(sorted, 50);
  timings.p99_us = Percentile(sorted, 99);
  timings.max_us = sorted.back();
  timings.in = newest().at - kept[kept.size() < kPassesKept ? 0 : count % kPassesKept].at;
  return timings;
}

void PassLog::AddPass(const Pass& pass) {
  const std::lock_guard lock(mutex_);
  passes_.Add(pass);
}

void PassLog::AddCommit(TimePoint at, std::int64_t us) {
  const std::lock_guard lock(mutex_);
  commits_.Add({at, us, "", 0});
}

void PassLog::SetDeadlines(TimePoint next, TimePoint look_again) {
  const std::lock_guard lock(mutex_);
  next_deadline_ = next;
  look_again_ = look_again;
}

PassFigures PassLog::Read() const {
  const std::lock_guard lock(mutex_);
  PassFigures figures;
  figures.passes = passes_.Read();
  figures.commits = commits_.Read();
  figures.next_deadline = next_deadline_;
  figures.look_again = look_again_;
  if (passes_.kept.empty()) return figures;
  figures.last_pass_at = passes_.newest().at;
  figures.last_woken_by = passes_.newest().woken_by;
  std::map<std::string, std::uint64_t> counts;
  for (const Pass& pass : passes_.kept) {
    ++counts[pass.woken_by];
    figures.starts += pass.starts;
  }
  figures.woken_by.assign(counts.begin(), counts.end());
  std::stable_sort(figures.woken_by.begin(), figures.woken_by.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return figures;
}

}  // namespace glim::server
