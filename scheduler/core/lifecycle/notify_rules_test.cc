#include "scheduler/core/lifecycle/notify_rules.h"

#include <gtest/gtest.h>

#include "scheduler/core/testing/cluster_builder.h"

namespace glim::core {
namespace {

Policy TwoNames() {
  Policy policy;
  policy.notify.webhooks["team-chat"] = {"https://chat.example", "/etc/glim/s"};
  policy.notify.commands["pager"] = {"/usr/local/bin/page", "pager"};
  return policy;
}

TEST(CheckNotify, OnlyWhatThePolicyNames) {
  const Policy policy = TwoNames();
  JobSpec spec;
  EXPECT_TRUE(CheckNotify(policy, spec).ok());
  spec.notify = {{"done"}, {"team-chat", "pager"}};
  EXPECT_TRUE(CheckNotify(policy, spec).ok());
  spec.notify.to = {"pager", "team-caht"};
  const Status refused = CheckNotify(policy, spec);
  EXPECT_EQ(refused.field(), "notify.to[1]");
  EXPECT_EQ(refused.fix(), "did you mean 'team-chat'? the policy has team-chat, pager");
  EXPECT_NE(CheckNotify(Policy(), spec).fix().find("leave notify out"), std::string::npos);
}

TEST(CheckNotify, RefusesAtTheSubmission) {
  testing::Cluster c;
  const auto told = [](JobSpec& spec) { spec.notify = {{"done"}, {"team-chat"}}; };
  const Reply reply = c.Do(SubmitJobs{"ann", "team", "", {testing::SpecWith(1, told)}, false});
  EXPECT_EQ(reply.status.field(), "notify.to[0]");
}

TEST(NotifySkippedEvent, IsToldOfTheJob) {
  testing::Cluster c;
  const JobId job = c.Submit(testing::Spec(1));
  c.Do(NotifySkipped{{job, 0}, "team-chat"});
  EXPECT_EQ(c.Noted(HistoryKind::kNotifySkipped), 1);
}

}  // namespace
}  // namespace glim::core
