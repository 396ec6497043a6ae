// Conditions come, change and go, whoever finds them.
#include "nodeagent/health/conditions.h"

#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

Finding Slow(const std::string& device, std::int64_t value) {
  Finding finding;
  finding.check = "link_slow";
  finding.device = device;
  finding.value = value;
  return finding;
}

TEST(Conditions, AreToldWhenTheyBeginChangeAndEnd) {
  Conditions all;
  all.Set("ports", {Slow("a", 1), Slow("b", 1)});
  EXPECT_EQ(all.TakeChanges().now.size(), 2u);
  all.Set("ports", {Slow("a", 1), Slow("b", 1)});
  Conditions::Changes changes = all.TakeChanges();
  EXPECT_TRUE(changes.now.empty() && changes.over.empty());
  all.Set("ports", {Slow("a", 2)});
  changes = all.TakeChanges();
  EXPECT_EQ(changes.now, std::vector<Finding>{Slow("a", 2)});
  EXPECT_EQ(changes.over, std::vector<Finding>{Slow("b", 1)});
}

TEST(Conditions, OneThatTwoFindIsOverWhenNeitherDoes) {
  Conditions all;
  all.Set("cards", {Slow("a", 1)});
  all.Set("gpus", {Slow("a", 1)});
  EXPECT_EQ(all.TakeChanges().now.size(), 1u);
  all.Set("cards", {});
  EXPECT_TRUE(all.TakeChanges().over.empty());
  all.Set("gpus", {});
  EXPECT_EQ(all.TakeChanges().over.size(), 1u);
}

TEST(Conditions, AreBounded) {
  Conditions all;
  std::vector<Finding> many;
  for (int i = 0; i < 100; ++i) many.push_back(Slow(std::to_string(i), 1));
  all.Set("ports", many);
  EXPECT_EQ(all.TakeChanges().now.size(), kConditionsMax);
}

}  // namespace
}  // namespace glim::nodeagent::health
