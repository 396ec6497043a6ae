#include "scheduler/server/loop/state_log.h"

#include <memory>
#include <set>
#include <sstream>
#include <utility>
#include <variant>

#include "scheduler/core/model/enum_words.h"

namespace glim::server {
namespace {

constexpr std::size_t kEntryBytes = 64'000;  // about what an entry holds at most

class Lines {
 public:
  explicit Lines(TimePoint at) : at_(at) {}

  void Add(const std::string& line) {
    if (entries_.empty() || entries_.back().facts.states.size() + line.size() > kEntryBytes) {
      core::HistoryEntry entry;
      entry.at = at_;
      entry.kind = core::HistoryKind::kStatesChanged;
      entries_.push_back(std::move(entry));
    }
    entries_.back().facts.states += line;
    entries_.back().facts.states += '\n';
  }
  void Add(const core::Node& node) {
    const std::string holder = node.holder ? core::ToString(node.holder) : "-";
    Add("n " + std::to_string(node.id.value) + " " + core::WordOf(node.state) + " " + holder + " " + node.name);
  }
  void Add(const core::Job& job) {
    Add("j " + std::to_string(job.id.value) + " " + core::WordOf(job.state) + " " + std::to_string(job.attempts));
  }
  std::vector<core::HistoryEntry> Take() { return std::move(entries_); }

 private:
  TimePoint at_;
  std::vector<core::HistoryEntry> entries_;
};

// The newest row of each that a commit writes; null: deleted.
struct Written {
  std::map<core::NodeId, const core::Node*> nodes;
  std::map<core::JobId, const core::Job*> jobs;

  void operator()(const std::shared_ptr<const core::Node>& row) { nodes[row->id] = row.get(); }
  void operator()(const std::shared_ptr<const core::Job>& row) { jobs[row->id] = row.get(); }
  void operator()(const core::Deleted<core::Node>& gone) { nodes[gone.id] = nullptr; }
  void operator()(const core::Deleted<core::Job>& gone) { jobs[gone.id] = nullptr; }
  template <typename Other>
  void operator()(const Other&) {}
};

bool Alike(const core::Node& a, const core::Node& b) {
  return a.state == b.state && a.holder == b.holder && a.name == b.name;
}

bool Goes(const core::Job* job) { return job != nullptr && !core::IsTerminal(job->state); }

}  // namespace

std::vector<core::HistoryEntry> StateChanges(const core::Tables& before, const std::vector<core::Mutation>& mutations,
                                             TimePoint at) {
  Written written;
  for (const core::Mutation& mutation : mutations) std::visit(written, mutation);
  Lines lines(at);
  for (const auto& [id, node] : written.nodes) {
    const core::Node* const old = before.nodes.Find(id);
    if (node == nullptr) {
      if (old != nullptr) lines.Add("n " + std::to_string(id.value));
    } else if (old == nullptr || !Alike(*old, *node)) {
      lines.Add(*node);
    }
  }
  for (const auto& [id, job] : written.jobs) {
    const core::Job* const old = before.jobs.Find(id);
    if (!Goes(job)) {
      if (Goes(old)) lines.Add("j " + std::to_string(id.value));
    } else if (!Goes(old) || old->state != job->state || old->attempts != job->attempts) {
      lines.Add(*job);
    }
  }
  return lines.Take();
}

std::vector<core::HistoryEntry> WholeState(const core::Tables& now, TimePoint at) {
  Lines lines(at);
  lines.Add("all");
  now.nodes.ForEach([&](core::NodeId, const core::Node& node) { lines.Add(node); });
  const auto add = [&](const core::JobPlace& place, const core::Job& job) {
    if (place.group == core::kEndedGroup) return false;
    lines.Add(job);
    return true;
  };
  now.listed.VisitFrom(core::JobPlace{-1}, add);
  return lines.Take();
}

void StateReplay::Take(const core::HistoryEntry& entry) {
  std::istringstream lines(entry.facts.states);
  std::string line;
  while (std::getline(lines, line)) TakeLine(line);
}

void StateReplay::TakeLine(const std::string& line) {
  std::istringstream words(line);
  std::string kind, state, holder;
  std::uint64_t id = 0;
  words >> kind;
  if (kind == "all") {
    whole_ = true;
    nodes_.clear();
    jobs_.clear();
    return;
  }
  if (!(words >> id)) return;
  words >> state;
  if (kind == "n") {
    const core::NodeId node(static_cast<std::uint32_t>(id));
    if (state.empty()) return static_cast<void>(nodes_.erase(node));
    const auto known = core::FromWord<core::NodeState>(state);
    if (!known) return;
    NodeThen then;
    then.state = *known;
    words >> holder >> then.name;
    if (const auto dot = holder.find('.'); dot != std::string::npos) {
      then.holder = {core::JobId(std::stoull(holder.substr(0, dot))),
                     static_cast<std::uint32_t>(std::stoul(holder.substr(dot + 1)))};
    }
    nodes_[node] = std::move(then);
  } else if (kind == "j") {
    const core::JobId job(id);
    if (state.empty()) return static_cast<void>(jobs_.erase(job));
    const auto known = core::FromWord<core::JobState>(state);
    if (!known) return;
    JobThen then;
    then.state = *known;
    words >> then.attempt;
    jobs_[job] = then;
  }
}

}  // namespace glim::server
