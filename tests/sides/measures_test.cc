// What the scheduler's policy may expect of a node is what the node's validator compares: no more and no less.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "nodeagent/validate/rules.h"
#include "scheduler/core/model/measures.h"

namespace glim {
namespace {

TEST(Measures, OfThePolicyAreThoseThatTheValidatorJudges) {
  std::set<std::string> judged;
  for (const validate::Rule& rule : validate::kRules) {
    if (rule.ratio_min > 0) judged.insert(std::string(rule.part) + "." + std::string(rule.what));
  }
  EXPECT_EQ(std::set<std::string>(core::kMeasures.begin(), core::kMeasures.end()), judged);
}

}  // namespace
}  // namespace glim
