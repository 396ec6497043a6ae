// What this leader has asked nodes to find out about others that it does not hear (lifecycle/probes.h). Soft: not
// stored.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "sdk/base/time.h"

namespace glim::core {

// As an agent says it.
struct ProbeResult {
  std::string node;
  Duration unanswered;  // nothing there has answered for so long; 0: the newest try was answered
};

struct ProbeTold {
  Duration unanswered;
  TimePoint at;  // when it was told
};

struct Probing {
  std::map<NodeId, std::vector<NodeId>> by;            // of who is probed: who is asked; nobody: no probe says enough
  std::map<NodeId, std::map<NodeId, ProbeTold>> told;  // of who is asked: the newest of each that it tries to reach
  std::map<NodeId, TimePoint> crowded;                 // of who is probed: when others were last silent with it
  TimePoint news;  // somebody has said what begins or ends something: judge it; 0: nobody
  friend bool operator==(const Probing& a, const Probing& b) { return a.by == b.by; }
};

}  // namespace glim::core
