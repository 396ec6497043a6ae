#include "sdk/hfreduce/engine/stall_watch.h"

#include <algorithm>

namespace glim::hfreduce {
namespace {

constexpr Duration kAskPeriodMax = Seconds(1);

}  // namespace

bool StallWatch::Tick(TimePoint now, bool busy, std::uint64_t progress) {
  const bool overslept = now - now_ > timeout_ / 2;
  now_ = now;
  if (!since_.has_value() || overslept || !busy || progress != progress_) {
    progress_ = progress;
    since_ = asked_ = now;
    answers_.clear();
    return false;
  }
  if (now - asked_ < std::min(timeout_ / 4, kAskPeriodMax)) return false;
  asked_ = now;
  return true;
}

void StallWatch::Answered(NodeIndex from, bool waits_for_itself) {
  answers_[from] = {.at = now_, .waits_for_itself = waits_for_itself};
}

Status StallWatch::Judge(const Waits& waits, const std::string& operation) const {
  const Duration stalled = now_ - *since_;
  if (stalled < timeout_) return Status::Ok();
  const std::string what = operation + " made no progress for " + std::to_string(stalled.ms) + " ms: ";
  const auto blame = [&](NodeIndex node, const char* why) {
    return Status(StatusCode::kUnavailable, what + "node " + std::to_string(node) + why);
  };
  constexpr const char* kOwnProcesses = " waits for its own processes, which have not come or do not deliver";
  if (waits.local) return blame(self_, kOwnProcesses);
  for (const NodeIndex node : waits.nodes) {
    const auto answer = answers_.find(node);
    if (answer == answers_.end() || now_ - answer->second.at > timeout_ / 2) return blame(node, " does not answer");
    if (answer->second.waits_for_itself) return blame(node, kOwnProcesses);
  }
  if (stalled < timeout_ * 2 || waits.nodes.empty()) return Status::Ok();
  return blame(waits.nodes.front(), " sends nothing and waits for others itself");
}

}  // namespace glim::hfreduce
