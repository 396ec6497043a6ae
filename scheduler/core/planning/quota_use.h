// The recipe's step 2: what is used of the quotas, and what is left for a job.
//
// Three quotas bound a job's class: its user's (the user's own row, else what the team sets for each of its users, else
// the default), its team's and its pool's. All must fit; a gang beyond them is borrowed as a whole, and counts against
// none. What was borrowed is so no longer once there is room for it: first those that began within quota are charged,
// then the others in the order in which they began.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

const Quota& UserQuotaOf(const Policy& policy, const std::string& user, const std::string& team);

class QuotaUse {
 public:
  QuotaUse(const ClusterState& state, const Policy& policy);

  struct Left {
    std::uint32_t nodes = kUnlimited;
    std::string of;  // whose quota is the tightest: "kim", "team vision", "pool a100"
  };
  Left LeftFor(const Job& job, PriorityClass priority) const;
  bool Fits(const Job& job, PriorityClass priority) const { return LeftFor(job, priority).nodes >= job.spec->nodes; }
  // The class that it would start in: resolves auto to the highest class with a quota that has enough left.
  PriorityClass ClassOf(const Job& job) const;

  // Is that live attempt beyond quota now?
  bool Borrowed(AttemptId attempt) const { return borrowed_.contains(attempt); }

  void Charge(const Job& job, PriorityClass priority);

 private:
  enum class Subject : std::uint8_t { kUser, kTeam, kPool };
  std::uint32_t Used(Subject subject, const std::string& name, PriorityClass priority) const;

  const Policy& policy_;
  std::set<AttemptId> borrowed_;
  std::map<std::tuple<Subject, std::string, PriorityClass>, std::uint32_t> used_;
};

}  // namespace glim::core
