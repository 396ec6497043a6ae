#include "scheduler/core/lifecycle/lost_contact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>

#include "scheduler/core/lifecycle/failed_rank.h"
#include "scheduler/core/model/attempt_tasks.h"

namespace glim::core {
namespace {

constexpr std::int32_t kAborted = 128 + 6;  // what NCCL's watchdog and an uncaught C++ exception end with

// In lower case, as the libraries' own texts have them.
constexpr std::array<std::string_view, 25> kWords = {
    "connection reset by peer",
    "connection closed by",
    "connection refused",
    "connection timed out",
    "connection aborted",
    "broken pipe",
    "no route to host",
    "network is unreachable",
    "host is down",
    "socket timeout",
    "socket timed out",
    "socket has timed out",
    "timed out waiting",
    "timed out connecting",
    "wait timeout after",
    "distnetworkerror",
    "diststoreerror",
    "ncclremoteerror",
    "ncclsystemerror",
    "unhandled system error",
    "there was a network error",
    "collective operation timeout",
    "endpoint timeout",
    "input/output error on remote",
    "transport retry count exceeded",
};

// hfreduce names the node or the rank.
constexpr std::array<std::string_view, 5> kOfHfreduce = {" is lost", " has left", " died", "without progress",
                                                         "waits for"};

bool HasOneOf(std::string_view text, const auto& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

// Failed by itself, and by something else; or ended well before the others lost it.
bool ExplainsIt(const Rank& rank, const Attempt& attempt) {
  if (!rank.exited) return false;
  const bool by_itself = !attempt.stop_at || static_cast<std::int32_t>(rank.rank) == attempt.failed_rank ||
                         (rank.exited_at && rank.exited_at <= attempt.stop_at);
  if (!by_itself) return false;
  if (!rank.restore_failed.empty() || rank.exit_code == 0) return true;
  return (rank.exit_code > 128 && rank.exit_code != kAborted) || !IsOfCommunication(rank.cause);
}

bool HasLostContact(const ClusterState& state, const Attempt& attempt) {
  if (attempt.nodes.size() < 2) return false;
  const std::vector<const Task*> tasks = TasksOf(state, attempt.id);
  if (!FirstFailure(tasks, attempt.stop_at, attempt.failed_rank)) return false;
  return std::none_of(tasks.begin(), tasks.end(), [&](const Task* task) {
    return task->out_of_memory || std::any_of(task->ranks.begin(), task->ranks.end(),
                                              [&](const Rank& rank) { return ExplainsIt(rank, attempt); });
  });
}

}  // namespace

bool IsOfCommunication(std::string_view cause) {
  std::string lower(cause);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (HasOneOf(lower, kWords)) return true;
  return lower.find("hfreduceerror") != std::string::npos && HasOneOf(lower, kOfHfreduce);
}

LostContact LostContactOf(const ClusterState& state, const Attempt& attempt) {
  if (!HasLostContact(state, attempt)) return {};
  std::uint32_t times = 1;
  std::set<NodeId> nodes(attempt.nodes.begin(), attempt.nodes.end());
  const Attempt* before = &attempt;
  for (std::uint32_t number = attempt.id.number; number > 1 && before->durable_step < 0; --number) {
    const Attempt* earlier = state.FindAttempt({attempt.id.job, number - 1});
    if (!earlier) break;
    if (earlier->outcome == Outcome::kClaimDropped || earlier->outcome == Outcome::kInterrupted) continue;
    if (earlier->outcome != Outcome::kNetwork || earlier->failed_rank < 0 || earlier->durable_step >= 0) break;
    ++times;
    nodes.insert(earlier->nodes.begin(), earlier->nodes.end());
    before = earlier;
  }
  return {times, {nodes.begin(), nodes.end()}};
}

}  // namespace glim::core
