#include "scheduler/core/model/feasibility.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/allowed_paths.h"
#include "scheduler/core/model/node_users.h"
#include "sdk/base/snapshot_name.h"

namespace glim::core {
namespace {

Status Infeasible(std::string field, std::string message, std::string fix) {
  return Status(StatusCode::kFailedPrecondition, std::move(message))
      .WithReason("INFEASIBLE")
      .WithField(std::move(field))
      .WithFix(std::move(fix));
}

std::string PoolNames(const ClusterState& state) {
  std::string names;
  for (const auto& [pool, nodes] : state.index().nodes_by_pool) names += (names.empty() ? "" : ", ") + pool;
  return names;
}

bool MayBeIn(const JobSpec& spec, const std::string& zone) {
  const std::vector<std::string>& zones = spec.placement.zones;
  return zones.empty() || std::find(zones.begin(), zones.end(), zone) != zones.end();
}

}  // namespace

std::size_t LargestZone(const PoolLayout& pool, const JobSpec& spec, const std::vector<bool>& take) {
  std::map<std::string, std::size_t> by_zone;
  std::size_t largest = 0;
  for (const NodeKind& kind : pool.kinds) {
    if (!MayBeIn(spec, kind.labels.zone) || !(take.empty() || take[kind.users])) continue;
    largest = std::max(largest, by_zone[kind.labels.zone] += kind.nodes);
  }
  return largest;
}

std::size_t MostInOneZone(const std::map<std::string, std::size_t>& by_zone) {
  std::size_t most = 0;
  for (const auto& [zone, nodes] : by_zone) most = std::max(most, nodes);
  return most;
}

std::size_t MostOverALink(const std::map<std::string, std::size_t>& by_zone, const Links& links) {
  std::size_t most = 0;
  for (auto a = by_zone.begin(); a != by_zone.end(); ++a) {
    for (auto b = std::next(a); b != by_zone.end(); ++b) {
      if (LinkJobsMax(links, a->first, b->first) > 0) most = std::max(most, a->second + b->second);
    }
  }
  return most;
}

bool Fits(const NodeLabels& labels, const JobSpec& spec) {
  const Placement& p = spec.placement;
  return labels.pool == spec.pool && labels.gpu_count >= spec.gpus_per_node && labels.nvlink >= p.nvlink &&
         (p.gpu_type.empty() || p.gpu_type == labels.gpu_type) && (p.nic.empty() || p.nic == labels.nic) &&
         MayBeIn(spec, labels.zone);
}

bool IsMeant(const std::string& node, const JobSpec& spec) {
  return spec.placement.node.empty() || spec.placement.node == node;
}

bool MayCross(const JobSpec& spec, const Policy& policy, std::size_t zone_nodes_max) {
  if (spec.placement.cross_zone == CrossZone::kNever) return false;
  return spec.nodes >= policy.cross_zone_nodes_min || spec.nodes > zone_nodes_max;
}

bool LeavesItsLink(const Attempt& attempt) {
  const Agreement* agreement = attempt.open_agreement();
  return attempt.stop != StopCause::kNone || (agreement && agreement->state != AgreementState::kNotifying);
}

bool GoesOnElsewhere(const Attempt& attempt) {
  const Agreement* open = attempt.open_agreement();
  return open && open->moved && !open->suspend && !open->time_limit;
}

bool LeavesAnyway(const Attempt& attempt) {
  const Agreement* open = attempt.open_agreement();
  return attempt.state == AttemptState::kEnded || attempt.stop != StopCause::kNone ||
         (open && (open->by_operator || open->time_limit || open->suspend));
}

namespace {

// Of the registry, who is not this one; empty: none.
std::string OtherWith(const Accounts& accounts, std::uint32_t uid, const std::string& user) {
  const auto has_it = [&](const auto& entry) { return entry.second.uid == uid && entry.first != user; };
  const auto found = std::find_if(accounts.users.begin(), accounts.users.end(), has_it);
  return found == accounts.users.end() ? "" : found->first;
}

// An archive is taken from where the cluster keeps them, and from nowhere else; and nobody runs, and so reads, what
// lies in the folder of another user of the registry. (Folders of others, of root say, may be anybody's.)
Status CheckSnapshotPlace(const ClusterState& state, const Policy& policy, const CodeSnapshot& snapshot,
                          const std::string& user) {
  if (snapshot.path.empty()) return Status::Ok();
  if (policy.checkpoint_root.empty()) {
    return Infeasible("code", "this cluster has no checkpoint root to keep code in",
                      "leave code: snapshot out, or ask the operator to set checkpoint_root in the policy");
  }
  const std::string fix = "submit it again: glim submit --snapshot lays the archive there";
  const std::optional<SnapshotParts> parts = ParseSnapshotPath(snapshot.path);
  if (!parts || parts->root != policy.checkpoint_root) {
    return Infeasible("snapshot.path", "is not below the cluster's checkpoint root, " + policy.checkpoint_root, fix);
  }
  if (!parts->uid) {
    return Infeasible("snapshot.path",
                      "is in no user's folder: archives lie in " + policy.checkpoint_root + "/snapshots/UID",
                      "submit it again with a glim of the scheduler's version");
  }
  const std::string other = OtherWith(state.accounts(), *parts->uid, user);
  if (other.empty()) return Status::Ok();
  return Infeasible("snapshot.path", "is in the folder of user " + other + "'s archives", fix);
}

// The pool as a job sees it that names one of its nodes: that one is all there is.
Result<PoolLayout> NamedAlone(const ClusterState& state, const PoolLayout& pool, const JobSpec& spec) {
  PoolLayout alone;
  alone.folder_lists = pool.folder_lists;
  alone.user_rules = pool.user_rules;
  for (std::size_t i = 0; i < pool.nodes.size(); ++i) {
    const Node& node = *state.FindNode(pool.nodes[i]);
    if (node.name != spec.placement.node) continue;
    alone.kinds.push_back({.labels = node.labels, .folders = pool.folders[i], .users = pool.users[i], .nodes = 1});
    return alone;
  }
  return Infeasible("placement.node", "pool " + spec.pool + " has no node '" + spec.placement.node + "'",
                    "name one of that pool (glim nodes lists them), or leave placement.node out");
}

// The kinds of nodes that are as a job asks, and those of them that run jobs of its user.
struct FittingKinds {
  std::vector<const NodeKind*> kinds;
  std::size_t nodes = 0;  // of all that fit
  std::size_t open = 0;   // of these, that the user may have
  ClosedNodes closed;
  std::uint32_t gpus_max = 0;
};

FittingKinds KindsFor(const PoolLayout& layout, const JobSpec& spec, const std::vector<bool>& take) {
  FittingKinds fitting;
  for (const NodeKind& kind : layout.kinds) {
    fitting.gpus_max = std::max(fitting.gpus_max, kind.labels.gpu_count);
    if (!Fits(kind.labels, spec)) continue;
    fitting.nodes += kind.nodes;
    if (take.empty() || take[kind.users]) {
      fitting.kinds.push_back(&kind);
      fitting.open += kind.nodes;
    } else {
      fitting.closed[kind.users] += kind.nodes;
    }
  }
  return fitting;
}

Status ClosedToUser(const PoolLayout& layout, const FittingKinds& fitting, const Accounts& accounts,
                    const JobSpec& spec, const std::string& user) {
  const std::string opener = OpenerOf(accounts, user);
  return Infeasible("user",
                    "user: " + ClosedInWords(layout, fitting.closed, accounts) + "; " + WhyClosed(accounts, user) +
                        ": " + std::to_string(fitting.open) + " of pool " + spec.pool + " are left, " +
                        std::to_string(spec.nodes) + " needed",
                    opener.empty() ? "use a pool whose nodes run jobs of every user" : opener);
}

}  // namespace

Status CheckFeasible(const ClusterState& state, const Policy& policy, const JobSpec& spec, const std::string& user) {
  if (Status s = CheckSnapshotPlace(state, policy, spec.snapshot, user); !s.ok()) return s;
  const auto pool = state.index().nodes_by_pool.find(spec.pool);
  if (pool == state.index().nodes_by_pool.end()) {
    const std::string names = PoolNames(state);
    return Infeasible("pool", "no node of pool '" + spec.pool + "' has ever registered",
                      names.empty() ? "start an agent: the cluster has no nodes yet" : "use one of: " + names);
  }
  const std::size_t in_pool = pool->second.size();
  if (spec.nodes > in_pool) {
    return Infeasible(
        "nodes", std::to_string(spec.nodes) + " nodes requested, pool " + spec.pool + " has " + std::to_string(in_pool),
        "use at most " + std::to_string(in_pool) + " nodes");
  }
  PoolLayout alone;
  if (!spec.placement.node.empty()) {
    Result<PoolLayout> named = NamedAlone(state, state.layouts().pools.at(spec.pool), spec);
    if (!named.ok()) return named.status();
    alone = std::move(*named);
  }
  const PoolLayout& layout = spec.placement.node.empty() ? state.layouts().pools.at(spec.pool) : alone;
  const std::vector<bool> give = ListsThatGive(layout, spec);
  const std::vector<bool> take = RulesThatTake(layout, state.accounts(), user);
  const FittingKinds fitting = KindsFor(layout, spec, take);
  std::map<std::string, std::size_t> by_zone;
  for (const NodeKind* kind : fitting.kinds) {
    if (give.empty() || give[kind->folders]) by_zone[kind->labels.zone] += kind->nodes;
  }
  if (spec.gpus_per_node > fitting.gpus_max) {
    return Infeasible("gpus_per_node",
                      std::to_string(spec.gpus_per_node) + " GPUs a node requested, the largest of pool " + spec.pool +
                          " has " + std::to_string(fitting.gpus_max),
                      "use at most " + std::to_string(fitting.gpus_max));
  }
  if (spec.nodes > fitting.nodes) {
    return Infeasible("placement",
                      "only " + std::to_string(fitting.nodes) + " nodes of pool " + spec.pool +
                          " are as the placement asks, " + std::to_string(spec.nodes) + " are needed",
                      "ask for fewer nodes, or loosen placement");
  }
  if (spec.nodes > fitting.open) return ClosedToUser(layout, fitting, state.accounts(), spec, user);
  if (Status s = CheckPaths(layout, fitting.kinds, spec); !s.ok()) return s;
  const bool may_cross = MayCross(spec, policy, LargestZone(layout, spec, take));
  const std::size_t largest =
      std::max(MostInOneZone(by_zone), may_cross ? MostOverALink(by_zone, state.accounts().links) : 0);
  if (spec.nodes > largest) {
    return Infeasible("nodes",
                      std::to_string(spec.nodes) +
                          " nodes requested, the largest allocation that zones and links "
                          "allow is " +
                          std::to_string(largest),
                      "use at most " + std::to_string(largest) + " nodes");
  }
  return Status::Ok();
}

}  // namespace glim::core
