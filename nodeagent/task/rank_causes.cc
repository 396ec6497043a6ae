#include "nodeagent/task/rank_causes.h"

#include "nodeagent/task/failure_cause.h"
#include "nodeagent/task/log_files.h"

namespace glim::nodeagent {
namespace {

std::string CauseIn(const std::string& log_path) {
  const Result<LogData> log = ReadLog(log_path, -static_cast<std::int64_t>(kCauseTailBytes), kCauseTailBytes);
  if (!log.ok()) return "";
  std::string_view text = log->data;
  // It may begin in the middle of a line, which would be taken for a whole one.
  const std::size_t line_end = text.find('\n');
  if (log->offset > 0 && line_end != std::string_view::npos) text.remove_prefix(line_end + 1);
  return FailureCause(text);
}

}  // namespace

void AddCauses(const LaunchSpec& spec, const TaskStatus& status, RankCauses* causes) {
  if (status.start_failed) return;
  for (const RankStatus& rank : status.ranks) {
    if (!rank.exited || rank.exit_code == 0 || causes->contains(rank.rank)) continue;
    causes->emplace(rank.rank, CauseIn(LogPath(spec.log_folder, rank.rank)));
  }
}

}  // namespace glim::nodeagent
