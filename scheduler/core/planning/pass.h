// What one planning pass knows and has already given away, in dense arrays: a pass looks at every node and every live
// attempt of a pool once, and then at shapes. Private to the planner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/model/plan.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/planning/job_order.h"
#include "scheduler/core/planning/placement.h"
#include "scheduler/core/planning/quota_use.h"

namespace glim::core {

inline constexpr std::size_t kHoldersNamed = 20;
inline constexpr std::uint32_t kNobody = 0xffffffff;

struct PassNode {
  NodeId id;
  const Node* row = nullptr;
  std::uint32_t zone = 0;  // of Layouts
  std::uint32_t leaf = 0;
  std::uint32_t holder = kNobody;  // index in PoolView::attempts
  std::uint32_t claimant = kNobody;
  bool usable = false;                                    // ready, and nothing strange on it
  bool taken = false;                                     // by a start of this pass
  TimePoint hold_until;                                   // kept back for somebody who gets the rest then; 0: not
  PriorityClass hold_from = PriorityClass::kExtremeHigh;  // this class, and those below it
};

struct PassAttempt {
  AttemptId id;
  const Attempt* row = nullptr;
  const Job* job = nullptr;
  bool steady = false;  // starting or running, and not asked to leave
  bool borrowed = false;
  bool gone = false;        // a victim or displaced in this pass
  bool spoken_for = false;  // somebody earlier in the order waits for it to become interruptible
  TimePoint min_run_until;  // no class but extreme_high interrupts it before
  TimePoint quantum_until;  // its own class does not
  TimePoint save_due;       // until then it is better left alone (victims.h); 0: not
  Urgency urgency;
  std::uint32_t nodes = 0;
  std::int64_t preemption_cost_gpu_ms = -1;  // below 0: not asked for yet
};

// A pool as the pass sees it.
struct PoolView {
  const PoolLayout* layout = nullptr;
  std::vector<PassNode> nodes;
  std::vector<PassAttempt> attempts;              // ascending by id
  std::vector<std::uint32_t> least_urgent_first;  // indexes of the steady ones
  std::uint64_t starts = 0;                       // grows with every start of this pass
};

// Which nodes a job could be on at all.
struct AskView {
  std::vector<std::uint32_t> nodes;  // indexes in PoolView::nodes
  std::map<std::uint32_t, std::size_t> by_zone;
};

// Who asks: what a verdict about nodes depends on, beside their number.
struct Asker {
  const Job* job = nullptr;
  PriorityClass priority = PriorityClass::kNormal;
  Urgency urgency;
  bool starved = false;
  bool may_interrupt = true;  // false: only what is free or being emptied
  bool swap_aborted = false;
};

// What an asker could get, by zone, before victims are chosen.
struct Field {
  std::vector<Candidate> candidates;                   // free, emptying, displaced and victims' nodes that fit the job
  std::vector<std::pair<TimePoint, Candidate>> later;  // of attempts that become victims then
  const AskView* ask = nullptr;
  std::size_t fitting() const { return ask->nodes.size(); }
  std::size_t held_back = 0;    // free ones kept back for somebody else
  std::vector<JobId> holders;   // of fitting nodes that it cannot have; the first kHoldersNamed
  std::size_t holders_all = 0;  // how many there are
  std::size_t free = 0, free_in_best_zone = 0;
  std::uint32_t best_zone = 0;   // with the most free ones
  TimePoint protected_until;     // the first moment at which one more could be a victim; 0: none
  bool lower_protected = false;  // that one is of a lower class; else of its own
};

class Pass {
 public:
  Pass(const ClusterState& state, const Policy& policy, TimePoint now);

  const QuotaUse& quota() const { return quota_; }
  Urgency UrgencyOf(const Shape& shape) const;

  Field FieldFor(const Asker& asker);
  // An upper bound of the nodes that it could get now (`later`: or when protections have ended), from sums alone.
  std::uint32_t AtMost(const Asker& asker, bool later);
  bool LinkFree(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const;

  void Take(const PlannedStart& start, const Job& job);
  // Keeps these nodes, or what will become free of them, and their link for a job that is being moved there.
  void Keep(const PassAttempt& moved, const std::vector<NodeId>& nodes, TimePoint until);
  // Keeps the free ones of these nodes for it, and the attempts on the others, until `until`.
  void HoldBack(const std::string& pool, const std::vector<NodeId>& nodes, TimePoint until);

  // When looking again at a class that waits could help, though nothing happens: running jobs grow older, waiting ones
  // starve. 0: never.
  TimePoint NextTurn(const std::string& pool, PriorityClass priority);

  PoolView& PoolOf(const std::string& pool);
  const AskView& AskOf(const JobSpec& spec);
  // By the lists of the pool's nodes, which give the job the folders that it names; empty: all do.
  std::vector<bool> GivenTo(const JobSpec& spec);
  // Attempts that leave to go on elsewhere.
  const std::vector<AttemptId>& moving() const { return moving_; }
  const std::string& ZoneName(std::uint32_t zone) const { return state_.layouts().zone_names[zone]; }
  // One of the pool's live attempts, its preemption cost included.
  const PassAttempt& WithPreemptionCost(const std::string& pool, AttemptId attempt);
  const ClusterState& state() const { return state_; }
  const Policy& policy() const { return policy_; }
  TimePoint now() const { return now_; }
  std::int64_t preempt_gain() const { return preempt_gain_; }

 private:
  enum class Standing { kVictim, kProtected, kNo };
  struct Verdict {
    Standing standing = Standing::kNo;
    TimePoint until;
  };
  // Nodes by class, and inside a class by urgency, least urgent first: sums answer AtMost.
  struct Supply {
    std::uint64_t starts = 0;  // of the view that it was made from
    struct Level {
      std::uint32_t now = 0, later = 0;  // of attempts past their min_run; all steady ones
      std::uint32_t borrowed = 0;
      std::vector<std::pair<Urgency, std::pair<std::uint32_t, std::uint32_t>>>
          own;  // urgency -> sums so far (now, later)
    };
    std::uint32_t loose = 0;  // free, held back or not, and emptying
    std::map<PriorityClass, Level> levels;
    std::map<PriorityClass, std::uint32_t> claimed;
  };

  void AddNodes(PoolView& view) const;
  void AddAttempts(const std::string& pool, PoolView& view);
  void WaitForTheSilent(PoolView& view) const;
  void TakeLink(const PoolView& view, const std::vector<NodeId>& nodes);
  Verdict StandingOf(const PassAttempt& holder, const Asker& asker) const;
  // How the nodes of an attempt count for the asker: their tier, or none; `until`: it becomes a victim then.
  struct Offer {
    bool known = false;
    std::optional<Tier> tier;
    TimePoint until;
  };
  Offer OfferOf(const PassAttempt& holder, const Asker& asker, Field& field) const;
  static PassAttempt& AttemptIn(PoolView& view, AttemptId id);
  const Supply& SupplyOf(const std::string& pool);
  std::int32_t ShareOfTeam(const std::string& team) const;
  void AddShares();

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  const std::int64_t preempt_gain_;
  QuotaUse quota_;
  std::map<std::string, PoolView> pools_;
  std::map<std::tuple<std::string, std::uint32_t, Placement, std::vector<bool>>, AskView> asks_;
  std::map<std::string, Supply> supplies_;
  std::map<std::string, std::int32_t> shares_;
  std::set<AttemptId> gone_;
  std::vector<AttemptId> moving_;
  std::map<std::pair<std::string, std::string>, std::set<AttemptId>> links_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> links_planned_;
};

}  // namespace glim::core
