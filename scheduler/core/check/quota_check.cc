#include "scheduler/core/check/quota_check.h"

#include <algorithm>
#include <map>
#include <utility>

namespace glim::core {
namespace {

// What somebody has of one quota, by class.
using Had = std::map<PriorityClass, std::uint64_t>;

class QuotaChecker {
 public:
  explicit QuotaChecker(const ClusterState& state) : state_(state), accounts_(state.accounts()) {
    for (const auto& [pool, attempts] : state.index().live) {
      for (const AttemptId id : attempts) live_.push_back(state.FindAttempt(id));
    }
  }

  std::vector<std::string> Run() {
    for (const Attempt* attempt : live_) CheckClass(*attempt);
    for (const auto& [group, numbers] : accounts_.quotas) {
      for (const auto& [who, had] : HadOf(group)) CheckNumbers(group, numbers, who, had);
    }
    if (!state_.dirty) {
      for (const Attempt* attempt : live_) CheckBeyond(*attempt);
    }
    return std::move(violations_);
  }

 private:
  const Job& JobOf(const Attempt& attempt) const { return *state_.FindJob(attempt.id.job); }

  bool Has(QuotaOf of, const std::string& subject, const std::string& pool) const {
    return accounts_.quotas.contains({of, subject, pool});
  }

  // A quota of each user gives way to a nearer one of the same pool, or of the same sum over pools.
  bool Binds(const QuotaGroup& group, const Job& job) const {
    if (group.pool != kAllPools && group.pool != job.spec->pool) return false;
    switch (group.of) {
      case QuotaOf::kUser: return group.subject == job.user;
      case QuotaOf::kTeam: return group.subject == job.team;
      case QuotaOf::kTeamUser: return group.subject == job.team && !Has(QuotaOf::kUser, job.user, group.pool);
      case QuotaOf::kDefaultUser:
        return !Has(QuotaOf::kUser, job.user, group.pool) &&
               (job.team.empty() || !Has(QuotaOf::kTeamUser, job.team, group.pool));
      case QuotaOf::kEverybody: return true;
    }
    return false;
  }

  static std::string WhoseOf(const QuotaGroup& group, const Job& job) {
    return group.of == QuotaOf::kTeam || group.of == QuotaOf::kEverybody ? "" : job.user;
  }

  std::map<std::string, Had> HadOf(const QuotaGroup& group) const {
    std::map<std::string, Had> had;
    for (const Attempt* attempt : live_) {
      const Job& job = JobOf(*attempt);
      if (attempt->borrowed || !Binds(group, job)) continue;
      had[WhoseOf(group, job)][attempt->charged] += attempt->nodes.size();
    }
    return had;
  }

  void CheckClass(const Attempt& attempt) {
    const PriorityClass in_force = JobOf(attempt).priority;
    if (attempt.borrowed && in_force != PriorityClass::kLow) {
      violations_.push_back("attempt " + ToString(attempt.id) + " is beyond a quota, and keeps class " +
                            ToString(in_force));
    }
    if (!attempt.borrowed && in_force != attempt.charged) {
      violations_.push_back("attempt " + ToString(attempt.id) + " is within its quotas as " +
                            ToString(attempt.charged) + ", and counts as " + ToString(in_force));
    }
  }

  void CheckNumbers(const QuotaGroup& group, const ClassNumbers& numbers, const std::string& who, const Had& had) {
    const std::string subject = InWords(group) + (who.empty() || who == group.subject ? "" : " (" + who + ")");
    if (const auto barred = had.upper_bound(numbers.rbegin()->first); barred != had.end()) {
      violations_.push_back(subject + " has nodes at " + ToString(barred->first) + ", which is not allowed");
    }
    for (const auto& [named, nodes] : numbers) {
      std::uint64_t sum = 0;
      for (auto it = had.lower_bound(named); it != had.end(); ++it) sum += it->second;
      if (sum > nodes) {
        violations_.push_back(subject + " is beyond quota at " + ToString(named) +
                              ", unborrowed: " + std::to_string(sum) + " of " + std::to_string(nodes) + " nodes");
      }
    }
  }

  // Would it fit beside all that is within?
  void CheckBeyond(const Attempt& attempt) {
    const Job& job = JobOf(attempt);
    if (!attempt.borrowed || job.validates) return;
    for (const auto& [group, numbers] : accounts_.quotas) {
      if (!Binds(group, job)) continue;
      if (attempt.charged > numbers.rbegin()->first) return;
      auto by_user = HadOf(group);
      const Had& had = by_user[WhoseOf(group, job)];
      for (const auto& [named, nodes] : numbers) {
        if (named > attempt.charged) continue;
        std::uint64_t sum = attempt.nodes.size();
        for (auto it = had.lower_bound(named); it != had.end(); ++it) sum += it->second;
        if (sum > nodes) return;
      }
    }
    violations_.push_back("attempt " + ToString(attempt.id) + " counts as beyond a quota, and every quota has room");
  }

  const ClusterState& state_;
  const Accounts& accounts_;
  std::vector<const Attempt*> live_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> CheckQuotas(const ClusterState& state) { return QuotaChecker(state).Run(); }

}  // namespace glim::core
