// Which machines reach each other, and what their agents say of it when they are asked (core/lifecycle/probes.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/model/ids.h"
#include "scheduler/core/model/probing.h"
#include "sdk/base/time.h"

namespace glim::sim {

class Reach {
 public:
  // `name_of`: of a node.
  explicit Reach(std::function<std::string(core::NodeId)> name_of) : name_of_(std::move(name_of)) {}

  // From then on the machine answers nobody, and reaches nobody.
  void Off(core::NodeId node, TimePoint now) { off_.try_emplace(node, now); }
  void On(core::NodeId node, TimePoint now);
  bool IsOff(core::NodeId node) const { return off_.contains(node); }
  // From then on it reaches nobody but the scheduler. Others reach it.
  void Deaf(core::NodeId node, TimePoint now) { deaf_.try_emplace(node, now); }
  void Hears(core::NodeId node) { deaf_.erase(node); }

  // The agent has got these orders. False: there is nobody to be reached.
  bool Ask(core::NodeId prober, const std::vector<core::NodeId>& targets, TimePoint now);
  bool IsAsked(core::NodeId prober) const { return asked_.contains(prober); }
  std::vector<core::ProbeResult> Results(core::NodeId prober, TimePoint now) const;
  // For how long nobody has reached it, until now or until a moment ago: what is told of it may be on its way.
  Duration OffFor(core::NodeId node, TimePoint now) const;

 private:
  const std::function<std::string(core::NodeId)> name_of_;
  std::map<core::NodeId, TimePoint> off_, deaf_;
  std::map<core::NodeId, std::pair<TimePoint, TimePoint>> was_off_;  // the last time: from, to
  std::map<core::NodeId, std::map<core::NodeId, TimePoint>> asked_;  // prober, whom to reach, since when
};

}  // namespace glim::sim
