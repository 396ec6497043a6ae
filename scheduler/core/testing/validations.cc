#include "scheduler/core/testing/validations.h"

#include <gtest/gtest.h>

namespace glim::core::testing {

Policy Validating(const ValidatePolicy& validate) {
  Policy policy = Patient();
  policy.health.validate = validate;
  return policy;
}

const NodeValidation& ValidationOf(const Cluster& c, NodeId node) { return c.node(node).validation; }

JobId MeasuringOf(const Cluster& c, NodeId node) { return ValidationOf(c, node).job; }

void Measured(Cluster& c, NodeId node, std::int32_t code, const std::string& last_line) {
  c.Settle();
  const JobId job = MeasuringOf(c, node);
  ASSERT_TRUE(job) << "nobody measures it";
  c.Edit(job, 0, [&](ObservedTask& task) {
    task.ranks[0].cause = last_line;
    ScriptedAgent::Release(task, code);
  });
  const bool paired = c.attempt(job).nodes.size() > 1;
  if (paired) c.Edit(job, 1, [](ObservedTask& task) { ScriptedAgent::Release(task, 0); });
  c.Settle();
}

std::size_t MeasuredNow(Cluster& c) {
  std::size_t measured = 0;
  c.state().tables().nodes.ForEach([&](NodeId, const Node& node) { measured += node.validation.job ? 1 : 0; });
  return measured;
}

}  // namespace glim::core::testing
