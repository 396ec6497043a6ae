// What one planning pass knows and has already given away. Private to the planner.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/placement.h"
#include "scheduler/core/plan.h"
#include "scheduler/core/policy.h"
#include "scheduler/core/victims.h"

namespace glim::core {

struct PassNode {
  NodeId id;
  const Node* row = nullptr;
  std::uint32_t zone = 0;
  std::uint32_t leaf = 0;
};

// What a job could get, by zone, before victims are chosen.
struct Field {
  std::vector<Candidate> candidates;  // free, emptying, displaced and victims' nodes that fit the job
  std::size_t fitting = 0;            // nodes that fit it at all
  std::map<std::uint32_t, std::size_t> fitting_by_zone;
  std::size_t reserved = 0;           // free ones kept back for somebody else
  std::set<JobId> holders;            // of fitting nodes that it cannot have
  TimePoint protected_until;          // the first moment at which one more could be a victim; 0: none
};

class Pass {
 public:
  Pass(const ClusterState& state, const Policy& policy, TimePoint now);

  PriorityClass ClassOf(const Job& job) const;  // resolves auto
  bool WithinQuota(const Job& job, PriorityClass priority) const;
  std::uint32_t QuotaLeft(const std::string& user, PriorityClass priority) const;

  // `may_interrupt` false: only what is free or being emptied.
  Field FieldFor(const Job& job, PriorityClass priority, bool may_interrupt);
  bool LinkFree(std::uint32_t zone_a, std::uint32_t zone_b, const std::vector<AttemptId>& leaving) const;

  void Take(const PlannedStart& start, const Job& job);
  void Reserve(const Field& field, std::uint32_t nodes, std::uint32_t zone);

  const std::vector<PassNode>& NodesOf(const std::string& pool);
  const std::string& ZoneName(std::uint32_t zone) const { return zone_names_[zone]; }
  std::int64_t Debt(AttemptId attempt) const;
  const ClusterState& state() const { return state_; }
  const Policy& policy() const { return policy_; }
  TimePoint now() const { return now_; }

 private:
  enum class Standing { kVictim, kProtected, kNo };
  Standing StandingOf(const Attempt& holder, PriorityClass priority, Field& field) const;
  void AddNode(const PassNode& node, const Job& job, PriorityClass priority, bool may_interrupt, Field& field);

  const ClusterState& state_;
  const Policy& policy_;
  const TimePoint now_;
  std::map<std::string, std::vector<PassNode>> nodes_;
  std::vector<std::string> zone_names_;
  std::map<std::string, std::uint32_t> zone_index_;
  std::map<std::string, std::uint32_t> leaf_index_;
  std::set<NodeId> taken_;
  std::set<NodeId> reserved_;
  std::set<AttemptId> doomed_;  // victims and displaced of this pass
  std::map<std::pair<std::string, PriorityClass>, std::uint32_t> usage_;
  std::map<std::pair<std::string, std::string>, std::set<AttemptId>> links_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> links_planned_;
};

}  // namespace glim::core
