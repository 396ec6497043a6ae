// What is done about what a node's health checks found.
//
//   restarted   who is there goes on elsewhere, and the node is a suspect
//   drained     the node is drained, as an operator does it (cordon.h), by "health"; where the row says how the attempt
//               there ends, it ends at once
//   cordoned    no job starts there: for an event by a cordon, for a condition as long as it is told (IsUsable)
//   out         no job starts there until somebody uncordons it; who is there goes on elsewhere at once: its task is
//               written off, stale, and not waited for. The gang's other nodes are released as always
//
// An operator's own cordon stays in their words; one that would end by itself does not any more, and one under which
// jobs run on becomes a drain where the finding drains.
#pragma once

#include <string>

#include "scheduler/core/lifecycle/changes.h"
#include "scheduler/core/model/health_rules.h"

namespace glim::core {

inline constexpr char kByHealth[] = "health";

// The attempt that has begun on the node; none: nobody has processes there.
AttemptId RunsOn(const Changes& changes, NodeId node);

// Cordons it, `repair` being what an operator does before they give it back; in an operator's own words where they have
// taken it out already.
void CordonByHealth(Changes& changes, NodeId node, const std::string& evidence, const std::string& repair);
// The cordon's reason: what was found, what to do, and how the node comes back; as long as a reason may be.
std::string ReasonOfHealth(const std::string& node, const std::string& evidence, const std::string& repair);

struct HealthFinding {
  std::string evidence;      // HealthInWords
  std::string device{};      // at fault; empty: the node
  bool lasts = false;        // a condition
  bool told_before = false;  // the same was found within a minute before
};
void ActOnHealth(Changes& changes, NodeId node, const HealthFinding& found, const HealthJudgement& judged);

}  // namespace glim::core
