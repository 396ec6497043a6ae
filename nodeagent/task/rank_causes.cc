#include "nodeagent/task/rank_causes.h"

#include "nodeagent/task/failure_cause.h"
#include "nodeagent/task/log_files.h"

namespace glim::nodeagent {
namespace {

constexpr std::int32_t kKilled = 128 + 9;

std::string CauseIn(const std::string& log_path, bool was_killed) {
  const Result<LogData> log = ReadLog(log_path, -static_cast<std::int64_t>(kCauseTailBytes), kCauseTailBytes);
  if (!log.ok()) return "";
  std::string_view text = log->data;
  // It may begin in the middle of a line, which would be taken for a whole one.
  const std::size_t line_end = text.find('\n');
  if (log->offset > 0 && line_end != std::string_view::npos) text.remove_prefix(line_end + 1);
  return FailureCause(text, was_killed);
}

std::string InGiB(std::int64_t bytes) {
  const std::int64_t tenths = (bytes * 10 + (std::int64_t{1} << 29)) >> 30;
  if (bytes < (std::int64_t{1} << 30)) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

std::string OutOfMemory(const TaskLimits& limits) {
  const std::string used = "out of memory: the task used up ";
  if (limits.memory_by_default) {
    return used + "all that tasks have on this node, " + InGiB(limits.memory_bytes) + " (it sets no limits.memory)";
  }
  return used + "its limit of " + InGiB(limits.memory_bytes) + " (limits.memory)";
}

}  // namespace

void AddCauses(const LaunchSpec& spec, const TaskStatus& status, RankCauses* causes) {
  if (status.start_failed) return;
  for (const RankStatus& rank : status.ranks) {
    if (!rank.exited || rank.exit_code == 0) continue;
    // The kernel's word, which the rank could not write into its log any more.
    if (rank.out_of_memory) (*causes)[rank.rank] = OutOfMemory(spec.limits);
    if (causes->contains(rank.rank)) continue;
    causes->emplace(rank.rank, CauseIn(LogPath(spec.log_folder, rank.rank), rank.exit_code == kKilled));
  }
}

}  // namespace glim::nodeagent
