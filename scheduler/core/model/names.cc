// The words of the rows, as people and programs read them.
#include <algorithm>
#include <array>
#include <utility>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/rows.h"
#include "scheduler/core/model/spec.h"

namespace glim::core {
namespace {

constexpr std::array<std::pair<PriorityClass, const char*>, 9> kPriorities = {{
    {PriorityClass::kAuto, "auto"},
    {PriorityClass::kLow, "low"},
    {PriorityClass::kBelowNormal, "below_normal"},
    {PriorityClass::kUnderNormal, "under_normal"},
    {PriorityClass::kNormal, "normal"},
    {PriorityClass::kAboveNormal, "above_normal"},
    {PriorityClass::kHigh, "high"},
    {PriorityClass::kVeryHigh, "very_high"},
    {PriorityClass::kExtremeHigh, "extreme_high"},
}};

template <typename Enum, std::size_t N>
const char* Name(const std::array<const char*, N>& names, Enum value) {
  const auto i = static_cast<std::size_t>(value);
  return i < N ? names[i] : "?";
}

}  // namespace

const char* ToString(PriorityClass priority) {
  for (const auto& [value, name] : kPriorities) {
    if (value == priority) return name;
  }
  return "?";
}

Result<PriorityClass> ParsePriority(const std::string& text) {
  std::string word = text;
  std::replace(word.begin(), word.end(), '-', '_');
  for (const auto& [value, name] : kPriorities) {
    if (word == name || text == std::to_string(static_cast<int>(value))) return value;
  }
  return InvalidArgument("priority", "'" + text.substr(0, 40) + "' is not a priority class",
                         "use one of extreme_high, very_high, high, above_normal, normal, under_normal, "
                         "below_normal, low, auto");
}

const char* ToString(DependencyKind v) { return Name(std::array{"ok", "failed", "any"}, v); }
const char* ToString(IfUnreachable v) { return Name(std::array{"older", "wait"}, v); }
const char* ToString(NvLink v) { return Name(std::array{"none", "pair", "full"}, v); }
const char* ToString(Use v) {
  return Name(std::array{"free", "claimed", "unavailable", "starting", "restoring", "productive", "stopping", "lost"},
              v);
}
const char* ToString(JobState v) {
  return Name(std::array{"queued", "starting", "running", "interrupting", "cancelling", "suspending", "held",
                         "succeeded", "failed", "cancelled"},
              v);
}
const char* ToString(AttemptState v) {
  return Name(std::array{"claimed", "starting", "running", "stopping", "ended"}, v);
}
const char* ToString(Outcome v) {
  return Name(std::array{"", "succeeded", "failed", "interrupted", "start_failed", "node_failure", "hang", "timeout",
                         "cancelled", "claim_dropped", "restore_failed"},
              v);
}
const char* ToString(SaveResult v) { return Name(std::array{"", "saved", "left_unsaved", "killed"}, v); }
const char* ToString(StopCause v) {
  return Name(
      std::array{"", "cancel", "suspend", "rank_failed", "deadline", "start_timeout", "node_failure", "finished"}, v);
}
const char* ToString(AgreementState v) {
  return Name(std::array{"notifying", "agreed", "no_agreement", "signalled", "withdrawn", "ended"}, v);
}
const char* ToString(TaskPhase v) {
  return Name(std::array{"pending", "starting", "running", "exited", "released"}, v);
}
const char* ToString(NodeState v) { return Name(std::array{"ready", "silent", "lost", "quarantined"}, v); }
const char* ToString(BlockerKind v) {
  return Name(std::array{"nodes_busy", "quota", "no_fit", "min_run", "link_busy", "backoff", "backfill_hold",
                         "claiming", "not_planned", "dependency", "time_slice", "checkpoint_on"},
              v);
}

}  // namespace glim::core
