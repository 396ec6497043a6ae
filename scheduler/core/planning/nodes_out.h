// Nodes that fit what a job asks and take no job, whoever ends: quarantined, silent, with a fault, ... They are counted
// and named for the words about why a job waits. Pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "scheduler/core/planning/pool_view.h"

namespace glim::core {

// In the order in which an example is chosen: what an operator must mend stands before what passes by itself.
enum class WhyOut {
  kQuarantined,
  kFault,
  kUnhealthy,
  kNoRoot,
  kCordoned,
  kRefused,
  kLost,
  kSilent,
  kLeftTasks,
  kUnmeasured
};
inline constexpr std::size_t kWhysOut = 10;

struct NodesOut {
  std::size_t all = 0;
  std::array<std::size_t, kWhysOut> by_reason{};  // by WhyOut
  std::map<std::uint32_t, std::size_t> by_zone;
  const Node* example = nullptr;  // lent by the state; the first of the first reason. Null: none is out

  // Does nothing for a node that takes jobs.
  void Add(const PassNode& node);
};

NodesOut OutOf(const PoolView& view, const AskView& ask);

// Of how many nodes that take jobs an allocation of this job could be, were they all free.
std::size_t MostTogether(const AskView& ask, const NodesOut& out, const JobSpec& spec, const Policy& policy,
                         const ClusterState& state);

// "2 quarantined, 1 silent; n4 is quarantined: task 5.1.0 did not go after SIGKILL". At least one node is out.
std::string OutInWords(const NodesOut& out);

}  // namespace glim::core
