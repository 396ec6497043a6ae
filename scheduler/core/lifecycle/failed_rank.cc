#include "scheduler/core/lifecycle/failed_rank.h"

#include <limits>
#include <tuple>

namespace glim::core {
namespace {

// "exited with code 137 (signal 9)": shells report a signal as 128 + its number, and 127 when there was no such
// program.
std::string DescribeExit(std::int32_t code) {
  std::string text = "exited with code " + std::to_string(code);
  if (code == 127) text += " (command not found)";
  if (code > 128 && code < 128 + 65) text += " (signal " + std::to_string(code - 128) + ")";
  return text;
}

bool FailedByItself(const Rank& rank, TimePoint stop_at, std::int32_t named) {
  if (!rank.exited || rank.exit_code == 0) return false;
  if (!stop_at || static_cast<std::int32_t>(rank.rank) == named) return true;
  return rank.exited_at && rank.exited_at <= stop_at;
}

// One that does not say when it exited comes after those that do.
auto OrderOf(const Rank& rank) {
  const std::int64_t at = rank.exited_at ? rank.exited_at.ms : std::numeric_limits<std::int64_t>::max();
  return std::tuple(at, rank.rank);
}

}  // namespace

FailedRank FirstFailure(const std::vector<const Task*>& tasks, TimePoint stop_at, std::int32_t named) {
  FailedRank first;
  for (const Task* task : tasks) {
    for (const Rank& rank : task->ranks) {
      if (!FailedByItself(rank, stop_at, named)) continue;
      if (!first || OrderOf(rank) < OrderOf(*first.rank)) first = {task, &rank};
    }
  }
  return first;
}

std::string DescribeFailure(const std::string& node, const FailedRank& failed) {
  std::string text =
      "rank " + std::to_string(failed.rank->rank) + " on node " + node + " " + DescribeExit(failed.rank->exit_code);
  const std::string& said = failed.task->message;  // what the node knows: that memory ran out
  if (!said.empty()) text += ": " + said;
  // Of what the node ended the rank for the node's word is the rank's cause, too: said once.
  if (!failed.rank->cause.empty() && failed.rank->cause != said)
    text += (said.empty() ? ": " : "; ") + failed.rank->cause;
  return text;
}

}  // namespace glim::core
