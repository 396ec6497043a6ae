// What happens beside the faults: machines in trouble for a while (starts that are slow or hang, full disks, a file
// system that is not mounted), agents and schedulers of other versions, policies that are read anew.
#include <algorithm>
#include <utility>

#include "scheduler/core/model/policy_accounts.h"
#include "scheduler/sim/world/world.h"

namespace glim::sim {

using core::NodeId;

void World::BeginWidened() {
  if (crowd_ > 0) timeline_.After(Seconds(3), [this] { Gather(); });
  if (reload_rng_.OneIn(2)) timeline_.After(Seconds(reload_rng_.Between(10, 300)), [this] { ReloadPolicy(); });
  if (accounts_rng_.OneIn(2)) timeline_.After(Seconds(accounts_rng_.Between(10, 300)), [this] { OperatorActs(); });
  if (links_rng_.OneIn(2)) timeline_.After(Seconds(links_rng_.Between(10, 300)), [this] { ChangeLink(); });
  BeginOperating();
  if (!options_.faults) return;
  timeline_.After(Seconds(trouble_rng_.Between(5, 60)), [this] { TroubleActs(); });
  timeline_.After(Seconds(version_rng_.Between(30, 600)), [this] { RollBackAgent(); });
  BeginHealth();
  timeline_.After(Seconds(reach_rng_.Between(5, 60)), [this] { ReachActs(); });
}

void World::SeeRefusal(const core::Event& event, const Status& status) {
  if (status.ok()) return;
  report_.above_cap += status.field().find("grace") != std::string::npos;
  if (std::holds_alternative<core::ChangeAccounts>(event.what)) {
    Violation("the world's own quotas were refused: " + status.message());
  }
}

void World::TroubleActs() {
  if (healing_) return;
  const NodeId node(static_cast<std::uint32_t>(trouble_rng_.Between(1, static_cast<std::int64_t>(agents_.size()))));
  Trouble trouble;
  switch (trouble_rng_.Between(0, 6)) {
    case 0: trouble.hangs = true; break;
    case 1: trouble.slow = Seconds(trouble_rng_.Between(10, 400)); break;  // up to more than a start may take
    case 2: trouble.disk_full = true; break;
    case 3: trouble.lacks_path = true; break;
    case 4: trouble.keeps = true; break;
    case 5: trouble.path_hangs = true; break;
    default:  // all that a machine with a dying disk shows
      trouble.slow = Seconds(trouble_rng_.Between(1, 60));
      trouble.disk_full = trouble.lacks_path = true;
  }
  agents_.at(node)->Suffer(trouble);
  timeline_.After(Seconds(trouble_rng_.Between(10, 240)), [this, node] { agents_.at(node)->Suffer({}); });
  timeline_.After(Seconds(trouble_rng_.Between(10, 200)), [this] { TroubleActs(); });
}

// With the healing: machines are mended, and everybody has the newest release.
void World::EndTroubles() {
  for (const auto& [node, agent] : agents_) agent->Suffer({});
  for (const auto& [node, hello] : hellos_) agents_speak_[hello.name] = speaks_;
}

// Somebody puts an older release on a node.
void World::RollBackAgent() {
  if (healing_) return;
  const NodeId node(static_cast<std::uint32_t>(version_rng_.Between(1, static_cast<std::int64_t>(agents_.size()))));
  agents_speak_[hellos_.at(node).name] = {speaks_.oldest - 1, speaks_.oldest - 1};
  Disconnect(node, Milliseconds(version_rng_.Between(50, 20'000)));
  timeline_.After(Seconds(version_rng_.Between(60, 900)), [this] { RollBackAgent(); });
}

// Who speaks no version that the scheduler knows is refused, and knocks again until somebody has upgraded it. What runs
// there runs on.
bool World::LetsIn(NodeId node) {
  const core::NodeConnected& hello = hellos_.at(node);
  const VersionRange speaks = agents_speak_.emplace(hello.name, speaks_).first->second;
  if (CommonVersion(speaks_, speaks)) return true;
  ++report_.refused_hellos;
  Post(core::NodeRefused{hello.name, hello.machine_id, "its agent speaks " + ToString(speaks)});
  if (knocking_.insert(node).second) {
    timeline_.After(Milliseconds(version_rng_.Between(1000, 20'000)), [this, node] {
      knocking_.erase(node);
      if (!agents_.at(node)->session()) Connect(node);
    });
  }
  if (upgrades_due_.insert(node).second) {
    timeline_.After(Seconds(version_rng_.Between(10, 600)), [this, node] { Upgrade(node); });
  }
  return false;
}

void World::Upgrade(NodeId node) {
  upgrades_due_.erase(node);
  ++report_.upgrades;
  agents_speak_[hellos_.at(node).name] = speaks_;
}

void World::ReloadPolicy() {
  if (report_.events >= options_.events) return;
  next_policy_ = Reloaded(policy_, first_policy_, reload_rng_);
  ChangeTaskUsers(*next_policy_);
  ++report_.reloads;
  Post(core::PolicyChanged{"read again"});
  timeline_.After(Seconds(reload_rng_.Between(30, 600)), [this] { ReloadPolicy(); });
}

// An operator disables a user, or gives a team pools of its own, and changes their mind; when the users have gone home,
// everybody may have what waits for them. That is said again and again: a scheduler may die with it.
void World::OperatorActs() {
  const bool going_home = report_.events >= options_.events;
  core::User user = UserAtHome(accounts_rng_.Between(1, 3));
  core::Team team{accounts_rng_.OneIn(2) ? "t1" : "t2"};
  ChangeUid(user);
  user.disabled = accounts_rng_.OneIn(3) && !going_home;
  if (accounts_rng_.OneIn(3) && !going_home) team.pools = {"default"};
  std::vector<core::AccountChange> changes = {{user}, {team}};
  if (going_home) {
    changes = {{UserAtHome(1)}, {UserAtHome(2)}, {UserAtHome(3)}, {core::Team{"t1"}}, {core::Team{"t2"}}};
  }
  Post(core::ChangeAccounts{std::move(changes), "op"});
  timeline_.After(Seconds(accounts_rng_.Between(20, 300)), [this] { OperatorActs(); });
}

// An operator makes the link between two zones carry more or fewer jobs, while some cross it; at last it carries as
// many as the world's policy says.
void World::ChangeLink() {
  const bool going_home = report_.events >= options_.events;
  std::vector<core::AccountChange> changes;
  if (going_home) {
    changes = core::LinksOf(policy_);
    if (changes.empty()) changes.push_back({core::ZoneLink{"z0", "z1", 1, 1}});
  } else {
    const auto jobs = static_cast<std::uint32_t>(links_rng_.Between(0, 3));
    changes.push_back({core::ZoneLink{"z0", "z1", jobs, jobs}});
  }
  ++report_.link_changes;
  Post(core::ChangeAccounts{std::move(changes), "op"});
  timeline_.After(Seconds(links_rng_.Between(20, 300)), [this] { ChangeLink(); });
}

// A policy comes in between two batches; events wait together, and so the whole batch is under the new one.
void World::TakePolicy(const std::vector<core::Event>& batch) {
  const bool reloads = std::any_of(batch.begin(), batch.end(), [](const core::Event& event) {
    return std::holds_alternative<core::PolicyChanged>(event.what);
  });
  if (!reloads || !next_policy_) return;
  policy_ = *std::exchange(next_policy_, std::nullopt);
  truth_.CapsAre(policy_);
}

}  // namespace glim::sim
