// Between the protocol's messages and the agent's own values. Pure.
#pragma once

#include <optional>
#include <string>

#include "glim/v1/agent_api.pb.h"
#include "nodeagent/core/reconcile.h"
#include "nodeagent/runtime/runtime.h"
#include "nodeagent/task/rank_state.h"

namespace glim::nodeagent {

TaskKey KeyOf(const v1::AttemptRef& attempt, std::uint32_t index);

// `now` is the moment at which the set came, on the clock of Interrupt::deadline.
Desired FromProto(const v1::DesiredState& set, TimePoint now, bool confirmed);

// One task of a report; `ranks` may be null for a task that was never started.
void ToProto(const TaskKey& key, const Inspection& inspection, const std::vector<RankState>* ranks,
             const std::function<bool(std::uint32_t rank)>& connected, v1::ObservedTask* out);

// "USR1", "SIGUSR1" or "10"; none for what is no signal.
std::optional<int> SignalNumber(const std::string& name);

// For a log line: in quotes, without line ends, bounded.
std::string Quoted(const std::string& text);

}  // namespace glim::nodeagent
