// What nodes' health checks find, as figures: few words, never a node or a device. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/core/model/cluster_state.h"
#include "scheduler/core/model/transition.h"

namespace glim::server {

// Labels of glim_health_events_total.
struct HealthFound {
  std::string check;    // of the known ones, or "other"
  std::string code;     // of an Xid that Table V names (Fire-Flyer AI-HPC, section VII-C1), or "other"; else "none"
  std::string verdict;  // what was done about it
};

// The events that the nodes' rows have come to keep. `before`: the rows as of the last commit.
std::vector<HealthFound> NewHealthEvents(const core::Tables& before, const std::vector<core::Mutation>& mutations);

// The check itself if it is a known one, else "other": agents of another release may tell of more.
std::string CheckWord(const std::string& check);

// A check took it out, or keeps jobs away for as long as it finds this: no operator did.
bool IsOutByHealth(const core::Node& node);

}  // namespace glim::server
