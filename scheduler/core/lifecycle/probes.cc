#include "scheduler/core/lifecycle/probes.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "scheduler/core/lifecycle/heard.h"
#include "scheduler/core/model/planted.h"

namespace glim::core {
namespace {

constexpr Duration kUnreachable = Seconds(8);
constexpr Duration kShortest = Seconds(1);
constexpr Duration kPatient = Minutes(10);
constexpr std::size_t kOfOneKind = 2;  // of who is asked: of the job, of the leaf, of the zone
constexpr std::size_t kSayMost = 3;    // names in a message

bool IsJudged(const Node& node) { return node.state == NodeState::kReady || node.state == NodeState::kSilent; }

// It speaks, and no report of it is overdue.
bool IsFresh(const ClusterState& state, const Policy& policy, NodeId id, TimePoint now) {
  const Node* node = state.FindNode(id);
  return node && node->state == NodeState::kReady && now - HeardAt(state, id) < ProbedAfter(policy);
}

bool WasHeard(const ClusterState& state, NodeId id) {
  const auto live = state.liveness.find(id);
  return live != state.liveness.end() && live->second.last_heard > state.leader_since;
}

bool IsQuiet(const ClusterState& state, const Policy& policy, NodeId id, const Node& node, TimePoint now) {
  return IsJudged(node) && !IsFresh(state, policy, id, now);
}

bool MayBeProbed(const ClusterState& state, NodeId id, const Node& node) {
  return IsJudged(node) && node.holder && !node.address.empty() && WasHeard(state, id);
}

std::vector<NodeId> Probed(const ClusterState& state, const Policy& policy, TimePoint now) {
  std::vector<NodeId> found;
  if (ProbedAfter(policy) <= Duration{}) return found;
  for (const auto& [id, live] : state.liveness) {
    const Node* node = state.FindNode(id);
    if (node && MayBeProbed(state, id, *node) && !IsFresh(state, policy, id, now)) found.push_back(id);
  }
  return found;
}

// Who is asked, near ones first.
class Choice {
 public:
  Choice(const ClusterState& state, const Policy& policy, TimePoint now, NodeId probed)
      : state_(state), policy_(policy), now_(now), probed_(probed) {}

  template <typename Fits>
  void Add(std::size_t most, Fits fits) {
    // The next ones by their numbers: not the same few for all that are ever probed.
    std::vector<NodeId> fitting;
    state_.tables().nodes.ForEach([&](NodeId id, const Node& node) {
      const bool may = id != probed_ && !node.address.empty() && IsFresh(state_, policy_, id, now_);
      if (may && fits(id, node) && std::find(chosen_.begin(), chosen_.end(), id) == chosen_.end())
        fitting.push_back(id);
    });
    const auto behind = std::upper_bound(fitting.begin(), fitting.end(), probed_);
    std::rotate(fitting.begin(), behind, fitting.end());
    fitting.resize(std::min({fitting.size(), most, kProbersMost - chosen_.size()}));
    chosen_.insert(chosen_.end(), fitting.begin(), fitting.end());
  }
  std::vector<NodeId> Take() {
    if (chosen_.size() < 2) return {};
    return std::move(chosen_);
  }

 private:
  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  const NodeId probed_;
  std::vector<NodeId> chosen_;
};

std::vector<NodeId> ChooseProbers(const ClusterState& state, const Policy& policy, TimePoint now, NodeId probed) {
  const Node& node = *state.FindNode(probed);
  Choice choice(state, policy, now, probed);
  choice.Add(kOfOneKind, [&](NodeId, const Node& other) { return other.holder == node.holder; });
  choice.Add(kOfOneKind, [&](NodeId, const Node& other) {
    return other.labels.zone == node.labels.zone && other.labels.leaf == node.labels.leaf;
  });
  choice.Add(kOfOneKind, [&](NodeId, const Node& other) { return other.labels.zone == node.labels.zone; });
  choice.Add(1, [](NodeId, const Node&) { return true; });
  return choice.Take();
}

void SyncAll(Changes& changes, const std::vector<NodeId>& nodes) {
  for (const NodeId id : nodes) changes.Sync(id);
}

// Leaves and the cluster in which so many are quiet that none of them died alone.
class Quiet {
 public:
  Quiet(const ClusterState& state, const Policy& policy, TimePoint now) {
    state.tables().nodes.ForEach([&](NodeId id, const Node& node) {
      if (!IsJudged(node)) return;
      Count& leaf = leaves_[{node.labels.zone, node.labels.leaf}];
      const bool quiet = IsQuiet(state, policy, id, node, now);
      for (Count* count : {&leaf, &all_}) {
        ++count->judged;
        count->quiet += quiet;
      }
    });
    many_ = all_.quiet >= 2 && all_.quiet * 100 > all_.judged * policy.outage_percent;
  }
  bool Many() const { return many_; }
  bool InLeafOf(const Node& node) const {
    const auto leaf = leaves_.find({node.labels.zone, node.labels.leaf});
    return leaf != leaves_.end() && leaf->second.quiet > 1 && leaf->second.quiet * 4 > leaf->second.judged;
  }

 private:
  struct Count {
    std::size_t judged = 0, quiet = 0;
  };
  std::map<std::pair<std::string, std::string>, Count> leaves_;
  Count all_;
  bool many_ = false;
};

// What one that was asked says now; null: nothing that is new enough.
const ProbeTold* Says(const ClusterState& state, const Policy& policy, NodeId prober, NodeId of, TimePoint now) {
  const auto told = state.probing.told.find(prober);
  if (told == state.probing.told.end() || !IsFresh(state, policy, prober, now)) return nullptr;
  const auto result = told->second.find(of);
  if (result == told->second.end() || now - result->second.at >= ProbedAfter(policy)) return nullptr;
  return &result->second;
}

// Whether it reaches one of the others.
bool HasControl(const ClusterState& state, const Policy& policy, const std::vector<NodeId>& by, NodeId prober,
                TimePoint now) {
  return std::any_of(by.begin(), by.end(), [&](NodeId other) {
    if (other == prober || !IsFresh(state, policy, other, now)) return false;
    const ProbeTold* said = Says(state, policy, prober, other, now);
    return said && said->unanswered <= Duration{};
  });
}

}  // namespace

Duration UnreachableAfter(const Policy& policy) {
  return std::clamp(policy.node_lost_after / 6, kShortest, kUnreachable);
}

Duration ProbedAfter(const Policy& policy) {
  return policy.node_lost_after > kPatient ? Duration{} : ReportEvery(policy) * 6 / 5;
}

void ReviewProbes(Changes& changes) {
  const ClusterState& state = changes.state();
  const std::vector<NodeId> wanted = Probed(state, changes.policy(), changes.now());
  if (wanted.empty() && state.probing.by.empty()) return;
  Probing& probing = changes.probing();
  std::set<NodeId> asked;
  for (auto it = probing.by.begin(); it != probing.by.end();) {
    if (std::binary_search(wanted.begin(), wanted.end(), it->first)) {
      asked.insert(it->second.begin(), it->second.end());
      ++it;
    } else {
      SyncAll(changes, it->second);
      it = probing.by.erase(it);
    }
  }
  for (const NodeId id : wanted) {
    std::vector<NodeId>& by = probing.by[id];
    if (!by.empty()) continue;
    if (wanted.size() <= kProbedMost) by = ChooseProbers(state, changes.policy(), changes.now(), id);
    SyncAll(changes, by);
    asked.insert(by.begin(), by.end());
  }
  std::erase_if(probing.crowded, [&](const auto& one) { return !probing.by.contains(one.first); });
  std::erase_if(probing.told, [&](const auto& told) { return !asked.contains(told.first); });
}

void SeeProbes(Changes& changes, NodeId prober, const std::vector<ProbeResult>& results) {
  const ClusterState& state = changes.state();
  if (state.probing.by.contains(prober)) {  // it is heard again
    changes.probing().news = changes.now();
    changes.ForgetSilence();
  }
  const std::vector<NodeId> asked = ProbesOf(state.probing, prober);
  if (asked.empty()) return;
  std::map<NodeId, ProbeTold> told;
  for (const ProbeResult& result : results) {
    const auto known = state.index().node_by_name.find(result.node);
    if (known == state.index().node_by_name.end()) continue;
    if (!std::binary_search(asked.begin(), asked.end(), known->second)) continue;
    told[known->second] = {result.unanswered, changes.now()};
    const bool is_probed = state.probing.by.contains(known->second);
    if (!is_probed || result.unanswered < UnreachableAfter(changes.policy())) continue;
    changes.probing().news = changes.now();
    changes.ForgetSilence();
  }
  changes.probing().told[prober] = std::move(told);
}

std::vector<Unreachable> FindUnreachable(Changes& changes) {
  const ClusterState& state = changes.state();
  const Policy& policy = changes.policy();
  const TimePoint now = changes.now();
  std::vector<Unreachable> found;
  if (state.probing.by.empty()) return found;
  const Quiet quiet(state, policy, now);
  for (const auto& [id, by] : state.probing.by) {
    const Node* node = state.FindNode(id);
    if (!node || !IsQuiet(state, policy, id, *node, now)) continue;
    if (quiet.Many() || quiet.InLeafOf(*node)) {
      changes.probing().crowded[id] = now;
      continue;
    }
    const auto crowded = state.probing.crowded.find(id);
    if (crowded != state.probing.crowded.end() && now - crowded->second < UnreachableAfter(policy)) continue;
    std::size_t say = 0;
    bool reached = false;
    std::string names;
    for (const NodeId prober : by) {
      const ProbeTold* said = Says(state, policy, prober, id, now);
      if (!said && !Planted(PlantedBug::kUnheardProbe)) continue;
      if (said && said->unanswered < UnreachableAfter(policy)) {
        reached = true;
      } else if (!said || Planted(PlantedBug::kProbeWithoutControl) || HasControl(state, policy, by, prober, now)) {
        if (++say <= kSayMost) names += (names.empty() ? "" : ", ") + state.FindNode(prober)->name;
      }
    }
    if (!reached && say >= 2 && say * 2 > by.size()) found.push_back({id, std::move(names)});
  }
  return found;
}

TimePoint ProbeDue(const ClusterState& state, const Policy& policy, NodeId id) {
  const Node* node = state.FindNode(id);
  if (ProbedAfter(policy) <= Duration{} || !node || state.probing.by.contains(id)) return {};
  if (!MayBeProbed(state, id, *node)) return {};
  return HeardAt(state, id) + (node->state == NodeState::kSilent ? Duration{} : ProbedAfter(policy));
}

std::vector<NodeId> ProbesOf(const Probing& probing, NodeId prober) {
  std::set<NodeId> found;
  for (const auto& [id, by] : probing.by) {
    if (std::find(by.begin(), by.end(), prober) == by.end()) continue;
    found.insert(id);
    found.insert(by.begin(), by.end());
  }
  found.erase(prober);
  return {found.begin(), found.end()};
}

}  // namespace glim::core
