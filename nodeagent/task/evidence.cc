#include "nodeagent/task/evidence.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "nodeagent/os/bare_root.h"
#include "nodeagent/os/become_user.h"
#include "nodeagent/os/process_look.h"
#include "nodeagent/os/program_stacks.h"
#include "nodeagent/os/wait_words.h"
#include "nodeagent/task/stack_words.h"
#include "sdk/base/cut_text.h"
#include "sdk/base/printable.h"

namespace glim::nodeagent {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds kAnswerLimit{2000};  // of one Python program
constexpr milliseconds kDebuggerLimit{20'000};
constexpr std::size_t kAskedMax = 16;  // Python programs
constexpr std::size_t kDebuggedMax = 8;

// What starts programs, and does nothing itself.
constexpr std::string_view kStarters[] = {"bash", "sh", "dash", "glim-init", "glim-shim", "runc", "crun", "torchrun"};

struct Look {
  ProcessLook process;
  std::optional<std::uint32_t> rank;
  std::string python;    // its stacks,
  std::string debugger;  // or these
  std::string fault;     // why there are none
  std::optional<StackDoor> door{};
  std::vector<std::string> waits{};  // what it says itself that it waits for
};

std::string StateInWords(const ThreadLook& thread) {
  const std::string where = thread.waits.empty() ? "" : " in " + thread.waits;
  switch (thread.state) {
    case 'R': return "runs";
    case 'S': return "sleeps" + where;
    case 'D': return "hangs in the kernel (D)" + where;
    case 'T':
    case 't': return "is stopped";
    case 'Z': return "has ended, and its parent has not noticed";
    default: return std::string("is in state ") + thread.state + where;
  }
}

bool IsStarter(const Look& look) {
  return std::find(std::begin(kStarters), std::end(kStarters), look.process.name) != std::end(kStarters);
}

// A process is of the rank whose program is the nearest above it.
std::optional<std::uint32_t> RankOf(const EvidenceOrder& order, const std::map<pid_t, pid_t>& parents, pid_t pid) {
  for (int steps = 0; steps < 64 && pid > 1; ++steps) {
    for (const EvidenceOrder::Rank& rank : order.ranks) {
      if (rank.pid == pid) return rank.rank;
    }
    const auto parent = parents.find(pid);
    if (parent == parents.end()) break;
    pid = parent->second;
  }
  return std::nullopt;
}

std::vector<Look> LookAtAll(const EvidenceOrder& order) {
  std::vector<Look> looks;
  std::map<pid_t, pid_t> parents;
  for (const pid_t pid : order.processes) {
    if (looks.size() == kEvidenceProcessesMax) break;
    Look look{LookAtProcess(pid), {}, "", "", ""};
    if (look.process.threads.empty()) continue;
    parents[pid] = look.process.parent;
    looks.push_back(std::move(look));
  }
  for (Look& look : looks) look.rank = RankOf(order, parents, look.process.pid);
  std::erase_if(looks, [](const Look& look) { return IsStarter(look) && look.process.kernel_stack.empty(); });
  std::stable_sort(looks.begin(), looks.end(), [](const Look& a, const Look& b) {
    return std::pair(a.rank.value_or(~0u), a.process.pid) < std::pair(b.rank.value_or(~0u), b.process.pid);
  });
  return looks;
}

std::string HeadOf(const Look& look) {
  const std::string rank = look.rank ? "rank " + std::to_string(*look.rank) + ": " : "";
  return rank + look.process.name + " (pid " + std::to_string(look.process.pid) + ")";
}

std::string LineOf(const Look& look) {
  std::string line = HeadOf(look) + " " + StateInWords(TellingThread(look.process));
  const std::string inner = look.python.empty() ? InnermostOfDebugger(look.debugger) : InnermostOfPython(look.python);
  if (!inner.empty()) line += "; " + inner;
  for (const std::string& words : look.waits) line += "; " + words;
  return line + "\n";
}

void AddStack(const Look& look, const char* kind, const std::string& stack, std::string& text) {
  if (stack.empty()) return;
  text += "\n-- " + HeadOf(look) + ", " + kind + ":\n" + stack;
  if (text.back() != '\n') text += '\n';
}

// One line may hold anything that a program names a function or a file.
std::string Safe(const std::string& text) {
  std::string safe;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    safe += Escaped(std::string_view(text).substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return safe;
}

std::string TextOf(const std::vector<Look>& looks) {
  std::string text;
  for (const Look& look : looks) text += LineOf(look);
  std::string stacks;
  for (const Look& look : looks) {
    AddStack(look, "in the kernel", look.process.kernel_stack, stacks);
    AddStack(look, "as Python tells it", look.python, stacks);
    AddStack(look, "as gdb finds it", look.debugger, stacks);
    AddStack(look, "no stacks", look.fault, stacks);
  }
  return CutText(Safe(text + stacks), kEvidenceFileMax) + kEvidenceEnd;
}

// Of the task's container; none: it is in none. What starts a rank's program is the agent's own; the program itself may
// have gone into a namespace that it has made.
UniqueFd ContainerOf(const EvidenceOrder& order) {
  return order.ranks.empty() ? UniqueFd() : OtherUserNamespaceOf(LookAtProcess(order.ranks.front().pid).parent);
}

// From here on: who looks has the rights of the task's user and of its container, and reads what programs have written
// where nothing is anybody's. (A node that allows no such place keeps containers' programs to themselves.)
bool TakeUsersRights(const EvidenceOrder& order) {
  if (!order.user || ::geteuid() != 0) return true;
  UniqueFd container = ContainerOf(order);
  if (!EnterBareRoot().ok()) container.Reset();
  const rlimit none{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &none);
  return BecomeUser(order.user->uid, order.user->gid, order.user->groups, container).ok();
}

// Those that tell their stacks themselves are asked; a forked child shares its parent's file, and is left alone.
std::vector<Look*> AskPrograms(std::vector<Look>& looks) {
  std::set<unsigned long> asked;
  std::vector<Look*> others;
  for (Look& look : looks) {
    if (!look.door) {
      others.push_back(&look);
      continue;
    }
    if (asked.size() == kAskedMax || !asked.insert(look.door->inode).second) continue;
    const auto stacks = AskForStacks(look.process, *look.door, kAnswerLimit);
    (stacks.ok() ? look.python : look.fault) = stacks.ok() ? *stacks : stacks.status().message();
  }
  return others;
}

// Of each rank the first program, before the second of any.
std::vector<Look*> WhomToDebug(const std::vector<Look*>& others) {
  std::vector<Look*> first, more;
  std::set<std::uint32_t> ranks;
  for (Look* look : others) {
    if (IsStarter(*look) || TellingThread(look->process).state == 'Z') continue;
    (look->rank && ranks.insert(*look->rank).second ? first : more).push_back(look);
  }
  first.insert(first.end(), more.begin(), more.end());
  if (first.size() > kDebuggedMax) first.resize(kDebuggedMax);
  return first;
}

void Debug(const std::vector<Look*>& looks) {
  std::vector<pid_t> pids;
  for (const Look* look : looks) pids.push_back(look->process.pid);
  const auto stacks = DebuggerStacks(pids, kDebuggerLimit);
  for (std::size_t i = 0; i < looks.size(); ++i) {
    (stacks[i].ok() ? looks[i]->debugger : looks[i]->fault) =
        stacks[i].ok() ? *stacks[i] : stacks[i].status().message();
  }
}

}  // namespace

std::string ToJson(const EvidenceOrder& order) {
  json ranks = json::array();
  for (const EvidenceOrder::Rank& rank : order.ranks) ranks.push_back({{"rank", rank.rank}, {"pid", rank.pid}});
  json value = {{"ranks", std::move(ranks)}, {"processes", order.processes}};
  if (order.user) value["user"] = {{"uid", order.user->uid}, {"gid", order.user->gid}, {"groups", order.user->groups}};
  return value.dump();
}

Result<EvidenceOrder> ParseEvidenceOrder(const std::string& text) {
  try {
    const json value = json::parse(text);
    EvidenceOrder order;
    for (const json& rank : value.at("ranks")) {
      order.ranks.push_back({rank.at("rank").get<std::uint32_t>(), rank.at("pid").get<pid_t>()});
    }
    order.processes = value.at("processes").get<std::vector<pid_t>>();
    if (const auto user = value.find("user"); user != value.end()) {
      order.user = TaskUser{user->at("uid").get<uid_t>(), user->at("gid").get<gid_t>(),
                            user->at("groups").get<std::vector<gid_t>>()};
    }
    return order;
  } catch (const json::exception& error) {
    return Status(StatusCode::kInvalidArgument, std::string("an order to look at a task: ") + error.what());
  }
}

void Gather(const EvidenceOrder& order, const std::function<void(const std::string&)>& tell) {
  std::vector<Look> looks = LookAtAll(order);
  tell(TextOf(looks));
  std::set<unsigned long> known;
  for (Look& look : looks) {  // in a container by root alone
    look.door = FindStackDoor(look.process);
    look.waits = ReadWaitWords(look.process, known);
  }
  if (!TakeUsersRights(order)) return;
  Debug(WhomToDebug(AskPrograms(looks)));
  tell(TextOf(looks));
}

std::string LastEvidence(const std::string& output) {
  const std::size_t end = output.rfind(kEvidenceEnd);
  if (end == std::string::npos) return "";
  const std::size_t before = end == 0 ? std::string::npos : output.rfind(kEvidenceEnd, end - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return output.substr(begin, end - begin);
}

}  // namespace glim::nodeagent
