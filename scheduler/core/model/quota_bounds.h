// Which quotas bound a job, and what their numbers say.
//
// A job of class C must fit every number named at C or lower; each number counts its class and all above. Above the
// highest class named the number is 0, below the lowest there is no limit. 0: not allowed.
//
// For the sum over pools and for the job's pool each: the user's own quota, or else that of each user of the team, or
// else that of each user; the team's; everybody's. A job counts against the quotas that bound it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/accounts.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// One quota as it bounds one user's jobs of one team: who shares its nodes.
struct QuotaBound {
  QuotaGroup group;
  std::string who;                        // of a quota of each user: that user; else empty
  const ClassNumbers* numbers = nullptr;  // of Accounts, which outlive it
};
std::vector<QuotaBound> BoundsOf(const Accounts& accounts, const std::string& user, const std::string& team,
                                 const std::string& pool);

// The most nodes that the class may ever have of it: the least number at the class or lower; 0 above the highest named;
// kUnlimited below the lowest.
std::uint32_t NumberFor(const ClassNumbers& numbers, PriorityClass priority);

// Of an attempt that runs beyond a quota.
inline constexpr char kBorrowedWords[] =
    "beyond a quota: it runs on nodes that nobody else needs, counts as class low, and gives them back first";

// Whose: "kim", "team vision", "pool a100", "kim in pool a100".
std::string Whose(const QuotaBound& bound);

}  // namespace glim::core
