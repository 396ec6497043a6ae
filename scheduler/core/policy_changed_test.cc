// Another policy in the midst of things: what it allows happens at once, and the history says so.
#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

using testing::Cluster;
using testing::Spec;
using testing::Zones;

TEST(AccountsChangedTest, AQuotaThatIsRaisedTakesBackWhatWasBorrowed) {
  Policy policy;
  policy.default_user_quota.nodes[PriorityClass::kNormal] = 1;
  Cluster c(Zones{.nodes = 2}, policy);
  const JobId borrows = c.Running(Spec(2), "kim");
  ASSERT_TRUE(c.attempt(borrows).borrowed);
  const JobId waits = c.Submit(Spec(2), "lee");
  EXPECT_EQ(c.job(waits).attempts, 0u);
  c.SetQuota("lee", PriorityClass::kNormal, 2);
  EXPECT_EQ(c.job(borrows).state, JobState::kInterrupting);
  c.Settle();
  EXPECT_EQ(c.job(waits).state, JobState::kRunning);
}

TEST(PolicyChangedTest, TheHistoryHasItInWords) {
  Cluster c;
  const Event event{1, c.now(), PolicyChanged{"quantum_min 10m -> 5m"}};
  const Transition transition = Apply(c.state(), c.policy(), event);
  ASSERT_EQ(transition.mutations.size(), 1u);
  const auto* entry = std::get_if<HistoryEntry>(&transition.mutations[0]);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(entry->kind, HistoryKind::kPolicyReloaded);
  EXPECT_EQ(entry->text, "quantum_min 10m -> 5m");
  EXPECT_TRUE(c.state().dirty);
  EXPECT_TRUE(transition.sync.empty());
}

}  // namespace
}  // namespace glim::core
