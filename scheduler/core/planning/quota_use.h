// The recipe's step 2: what is used of the quotas, and what is left for a job (quota_bounds.h says which bound it).
//
// All must fit; a gang beyond them is borrowed as a whole, and counts against none. What was borrowed is so no longer
// once there is room for it: first those that began within quota are charged, then the others in the order in which
// they began.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/policy.h"
#include "scheduler/core/model/quota_bounds.h"

namespace glim::core {

enum class QuotaStanding : std::uint8_t {
  kWithin,
  kBorrows,    // a number above 0 is used up
  kNotAllowed  // a number is 0
};

// What counts of a job, or of all jobs of a shape. Lent.
struct QuotaAsk {
  QuotaAsk(const Job& job)  // NOLINT: a job is asked about as it is
      : user(job.user), team(job.team), pool(job.spec->pool), priority(job.spec->priority), nodes(job.spec->nodes) {}
  QuotaAsk(const Shape& shape)  // NOLINT: likewise
      : user(shape.user), team(shape.team), pool(shape.pool), priority(shape.priority), nodes(shape.nodes) {}
  const std::string& user;
  const std::string& team;
  const std::string& pool;
  PriorityClass priority;
  std::uint32_t nodes;
};

// How a waiting job stands now.
struct QuotaTurn {
  PriorityClass charged = PriorityClass::kNormal;  // that it would start in; auto is resolved
  PriorityClass order = PriorityClass::kNormal;    // that counts: what borrows is low
  QuotaStanding standing = QuotaStanding::kWithin;
};

class QuotaUse {
 public:
  explicit QuotaUse(const ClusterState& state);  // lent, and outlives it

  struct Left {
    std::uint32_t nodes = kUnlimited;
    std::uint32_t of_nodes = kUnlimited;        // the number that it is left of
    PriorityClass at = PriorityClass::kNormal;  // where that number is named
    std::string of;                             // whose quota is the tightest: "kim", "team vision", "pool a100"
  };
  Left LeftFor(const QuotaAsk& ask, PriorityClass priority) const;
  QuotaTurn TurnOf(const QuotaAsk& ask) const;

  // Is that live attempt beyond quota now?
  bool Borrowed(AttemptId attempt) const { return borrowed_.contains(attempt); }
  // The live attempts whose rows say otherwise, and what they should say.
  const std::vector<std::pair<AttemptId, bool>>& Changed() const { return changed_; }

  void Charge(const QuotaAsk& ask, PriorityClass priority);

 private:
  using Used = std::map<PriorityClass, std::uint32_t>;
  struct Counted {
    QuotaBound bound;
    Used* used = nullptr;  // of used_
  };
  using Bounds = std::vector<Counted>;

  Bounds& BoundsFor(const QuotaAsk& ask) const;
  bool Fits(const QuotaAsk& ask, PriorityClass priority) const;
  PriorityClass ResolveAuto(const QuotaAsk& ask) const;

  const Accounts& accounts_;
  std::set<AttemptId> borrowed_;
  std::vector<std::pair<AttemptId, bool>> changed_;
  // Made when they are first asked for.
  mutable std::map<std::pair<QuotaGroup, std::string>, Used> used_;
  mutable std::map<std::tuple<std::string, std::string, std::string>, Bounds> bounds_;  // by user, team and pool
};

}  // namespace glim::core
