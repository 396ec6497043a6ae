// What is done about what nodes' health checks find: the rows of the policy (HealthRule), and what they come to for one
// finding. Pure.
//
// The default rows of check `xid` are Table V of An et al., "Fire-Flyer AI-HPC: A Cost-Effective Software-Hardware
// Co-Design for Deep Learning", SC 2024, section VII-C1: what the errors of NVIDIA's driver mean, and what an operator
// does then. The others say the same of links, memory, disks and what else is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/model/health.h"
#include "scheduler/core/model/policy.h"

namespace glim::core {

// What an agent may tell. An event happened once; a condition is so as long as it is told.
struct HealthCheck {
  std::string_view name;
  bool condition = false;
};
inline constexpr std::string_view kXidCheck = "xid";  // the only one whose rows may name codes
inline constexpr HealthCheck kHealthChecks[] = {{kXidCheck},
                                                {"sxid_fatal"},
                                                {"sxid"},
                                                {"link_flash"},
                                                {"link_errors"},
                                                {"memory_ecc_uncorrected"},
                                                {"memory_ecc_corrected"},
                                                {"gpu_ecc_uncorrected"},
                                                {"gpu_ecc_corrected"},
                                                {"machine_check"},
                                                {"disk_error"},
                                                {"kernel_lines_lost"},
                                                {"pcie_slow", true},
                                                {"gpu_throttled", true},
                                                {"gpu_lost", true},
                                                {"gpu_row_remap_failed", true},
                                                {"gpu_retired_pages_pending", true},
                                                {"nvlink_down", true},
                                                {"link_down", true},
                                                {"link_slow", true},
                                                {"disk_read_only", true},
                                                {"disk_failing", true},
                                                {"disk_worn", true},
                                                {"disk_slow", true},
                                                {"disk_full_soon", true},
                                                {"cpu_throttled", true},
                                                {"health_blind", true}};
// Null for a name that no check has.
const HealthCheck* FindHealthCheck(std::string_view name);

const std::vector<HealthRule>& DefaultHealthRules();

// All rows in force: those of the policy, then the default ones without the codes that the policy's rows name. A policy
// whose own rows are these decides the same.
std::vector<HealthRule> HealthTable(const HealthPolicy& policy);

// The rows for one finding; pointers are into the policy and the default rows. The first of these that there are: the
// policy's rows that name the code, default rows that name it, the policy's rows that name none, default rows that name
// none.
std::vector<const HealthRule*> RulesFor(const HealthPolicy& policy, const std::string& check, std::int64_t code);

struct HealthJudgement {
  HealthVerdict verdict = HealthVerdict::kRecorded;  // the strongest of the rows that apply
  Outcome ends = Outcome::kNone;                     // of the attempt there, at once; kNone: it goes on
  std::string repair;                                // of the strongest row
};

// More is done by a verdict with a larger number.
int StrengthOf(HealthVerdict verdict);

// `event` is not in `earlier`, which the node's row keeps. A row that counts begins to count anew when it has applied:
// a node that was repaired is not taken out again by what was wrong with it before.
HealthJudgement JudgeHealth(const HealthPolicy& policy, const std::vector<HealthEvent>& earlier,
                            const HealthEvent& event);

// How an attempt ends whose rank fails soon after this; kNone: by its own fault.
Outcome BlamedFor(const HealthPolicy& policy, const std::string& check, std::int64_t code);

// As long as it is told the node is given to no job.
inline bool KeepsJobsAway(const HealthCondition& condition) { return condition.verdict == HealthVerdict::kCordoned; }
// The first condition that does; null: there is none.
const HealthCondition* KeptAwayBy(const Node& node);

// "xid 79 of 0000:3b:00.0: GPU has fallen off the bus", "link_slow of mlx5_0/1: 100 Gb/s, 200 Gb/s expected".
std::string HealthInWords(const HealthEvent& event);
std::string HealthInWords(const HealthCondition& condition);

}  // namespace glim::core
