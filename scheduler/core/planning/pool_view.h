// A pool as one planning pass sees it, in dense arrays: a pass looks at every node and every live attempt of a pool
// once, and then at shapes. What the pass gives away is marked here. Private to the planner and to advice.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/model/node_users.h"
#include "scheduler/core/planning/quota_use.h"
#include "scheduler/core/planning/reserved.h"
#include "scheduler/core/planning/urgencies.h"

namespace glim::core {

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
  PriorityClass priority = PriorityClass::kNormal;  // that counts: what is borrowed is low
  bool gone = false;                                // a victim or displaced in this pass
  bool spoken_for = false;  // somebody earlier in the order waits for it to become interruptible, or for its claims
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
  std::vector<PassAttempt> attempts;                 // ascending by id
  std::vector<std::uint32_t> least_urgent_first;     // indexes of the steady ones
  std::uint64_t starts = 0;                          // grows with every start of this pass
  std::vector<const Reservation*> reservations;      // that have nodes here
  std::vector<std::vector<std::uint32_t>> reserved;  // by node: which of them; empty where there are none
};

// It must be there.
PassAttempt& AttemptIn(PoolView& view, AttemptId id);
// Null of a node that is not in the pool.
const PassNode* NodeIn(const PoolView& view, NodeId id);
PassNode* NodeIn(PoolView& view, NodeId id);

// Which nodes a job could be on at all.
struct AskView {
  std::uint32_t number = 0;          // tells the views of a pass apart
  std::vector<std::uint32_t> nodes;  // indexes in PoolView::nodes
  std::map<std::uint32_t, std::size_t> by_zone;
  std::size_t zone_nodes_max = 0;                    // LargestZone (feasibility.h)
  std::size_t most_in_zone = 0, most_over_link = 0;  // nodes of an allocation in one zone, in two
  // As it asks, and not of `nodes`: they run no job of its user (node_users.h).
  ClosedNodes closed;
  std::string closed_words;
  std::size_t all_in_zone = 0, all_over_link = 0;  // as above, with the closed ones; 0: there are none
  // It lacks nodes that are there, and that run no job of its user.
  bool IsClosedTo(const JobSpec& spec, const Policy& policy) const;
  bool MayCross(const JobSpec& spec, const Policy& policy) const;
  // Who asks for more nodes than that can have them no more, whoever ends.
  std::size_t Largest(const JobSpec& spec, const Policy& policy) const;
};

// The views of a pass, made when they are first asked for. References stay good as long as it lives.
class PoolViews {
 public:
  // All are lent and outlive it.
  PoolViews(const ClusterState& state, const Policy& policy, TimePoint now, const QuotaUse& quota,
            const Urgencies& urgencies, const Reserved& reserved);

  PoolView& Of(const std::string& pool);
  const AskView& AskOf(const Job& job);  // lent, and outlives this

 private:
  void AddNodes(PoolView& view) const;
  void AddAttempts(const std::string& pool, PoolView& view) const;
  void WaitForTheSilent(PoolView& view) const;
  void AddReservations(PoolView& view) const;
  std::map<std::string, std::size_t> ByName(const std::map<std::uint32_t, std::size_t>& by_zone) const;

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  const QuotaUse& quota_;
  const Urgencies& urgencies_;
  const Reserved& reserved_;
  std::map<std::string, PoolView> pools_;
  // By what a job could be on, and not by its words: there are as many ways to say something as users like.
  enum class Fit : std::uint8_t { kNo, kClosed, kOpen };  // kClosed: it runs no job of its user (node_users.h)
  struct AskKey {
    std::string pool;
    std::vector<Fit> kinds;  // beside PoolLayout::kinds
    std::string node;        // placement.node
    std::size_t zone_nodes_max = 0;
    friend auto operator<=>(const AskKey&, const AskKey&) = default;
  };
  AskKey KeyOf(const Job& job, const PoolLayout* layout) const;
  void FillAsk(AskView& ask, const AskKey& key, const Job& job, const PoolView& view) const;

  std::map<AskKey, AskView> asks_;
  const JobSpec* last_asked_ = nullptr;  // whose view is last_ask_: a job is asked about many times in a row
  std::string last_user_;                // beside it
  const AskView* last_ask_ = nullptr;
};

}  // namespace glim::core
