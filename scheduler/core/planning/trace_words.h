// The words of a trace (pass_trace.h): each function tells one thing that the planner has looked at for an asker, from
// what the pass saw. A null trace records nothing. Private to the planner.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/planning/gang_choice.h"
#include "scheduler/core/planning/pass.h"
#include "scheduler/core/planning/pass_trace.h"

namespace glim::core {

// 1. and 2. `turn`: its number in the pass; `started`: who got nodes before it, in this pass.
void TellTurn(PassTrace* trace, const Asker& asker, std::size_t turn, const std::vector<PlannedStart>& started);
void TellQuota(PassTrace* trace, const Pass& pass, const Job& job);

// 3. Each zone with what it could get there, and each attempt that has fitting nodes and keeps them.
void TellField(PassTrace* trace, Pass& pass, const Asker& asker, const Field& field);
void TellPlaced(PassTrace* trace, const Pass& pass, const std::vector<NodeId>& nodes);
// 4. Each pair of zones and the link between them.
void TellLinks(PassTrace* trace, const Pass& pass, const JobSpec& spec, const Field& field);

// 5. One way to make room that was considered, in these zones, or why there is none.
void TellPreemption(PassTrace* trace, Pass& pass, const Asker& asker, const Field& field,
                    const std::vector<std::uint32_t>& zones, const std::optional<GangPreemption>& preemption);
void TellChosen(PassTrace* trace, const GangPreemption& preemption);

// 6. That none was, and why; one job whose move was considered.
void TellNoMove(PassTrace* trace, const std::string& why);
void TellMove(PassTrace* trace, const PassAttempt& moved, std::int64_t gain_gpu_ms, std::int64_t permille,
              const std::string& outcome);

// 7. Why nothing is kept for it yet; what is kept, and until when (none: nobody can tell when it could start).
void TellNoHold(PassTrace* trace, std::string_view why);
void TellNoHoldYet(PassTrace* trace, const Pass& pass, const Asker& asker);
void TellHold(PassTrace* trace, const Pass& pass, const std::optional<TimePoint>& from,
              const std::vector<NodeId>& nodes);

// 8. The end of it.
void TellStart(PassTrace* trace, const ClusterState& state, const PlannedStart& start);
void TellBlockers(PassTrace* trace, const std::vector<Blocker>& blockers);

}  // namespace glim::core
