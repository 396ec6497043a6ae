// A policy file's quotas become rows once, and each row says what it means now.
#include "scheduler/policy/quota_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::server {
namespace {

using core::PriorityClass;
using core::QuotaOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

core::Policy PolicyOf(const std::string& text) {
  const auto file = ReadPolicyText(text, "test");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? file->policy : core::Policy();
}

core::Accounts Imported(const std::string& text) {
  core::Accounts accounts;
  const auto plan = PlanQuotaImport(accounts, PolicyOf(text));
  EXPECT_TRUE(plan.ok() && plan->event);
  if (!plan.ok() || !plan->event) return accounts;
  for (const core::AccountChange& change : plan->event->changes) accounts.Change(change);
  return accounts;
}

constexpr char kQuotas[] =
    "quotas:\n  default_user: {normal: 8, very_high: 0}\n  users: {kim: {very_high: 4}, lee: {}}\n"
    "  teams: {vision: {users: {high: 2}, total: {high: 16}, weight: 200}}\n"
    "  pools: {default: {extreme_high: 32}}\n";

TEST(QuotaImport, EachRowIsToldWithWhatItMeans) {
  const auto plan = PlanQuotaImport({}, PolicyOf(kQuotas));
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(
      plan->words,
      ElementsAre("team vision: weight 200",
                  "user kim: at most 4 nodes at very_high and above; above very_high: not allowed; below "
                  "very_high: no limit",
                  "user lee: at most 10000000 nodes at extreme_high and above; below extreme_high: no limit",
                  "team vision: at most 16 nodes at high and above; above high: not allowed; below high: no limit",
                  "each user of team vision: at most 2 nodes at high and above; above high: not allowed; below "
                  "high: no limit",
                  "each user without a quota of their own: at most 8 nodes at normal and above; very_high and "
                  "above: not allowed; below normal: no limit",
                  "everybody together in pool default: at most 32 nodes at extreme_high and above; below "
                  "extreme_high: no limit"));
  const core::Accounts accounts = Imported(kQuotas);
  EXPECT_EQ(accounts.teams.at("vision").weight, 200u);
  EXPECT_EQ(accounts.quotas.at({QuotaOf::kUser, "kim"}).at(PriorityClass::kVeryHigh), 4u);
  EXPECT_EQ(accounts.quotas.at({QuotaOf::kEverybody, "", "default"}).at(PriorityClass::kExtremeHigh), 32u);
}

TEST(QuotaImport, TheSameTextIsAcceptedWithAWarning) {
  const auto again = PlanQuotaImport(Imported(kQuotas), PolicyOf(std::string("quantum_min: 5m\n") + kQuotas));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->event);
  EXPECT_THAT(again->warning, HasSubstr("glim admin quota list"));
  const auto none = PlanQuotaImport(Imported(kQuotas), PolicyOf("quantum_min: 5m\n"));
  EXPECT_TRUE(none.ok() && !none->event && none->warning.empty());
}

TEST(QuotaImport, AChangedTextIsRefusedWithTheCommands) {
  const auto refused = PlanQuotaImport(Imported("quotas: {users: {kim: {high: 4}, lee: {low: 1}}}\n"),
                                       PolicyOf("quotas: {users: {kim: {high: 6}}}\n"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.status().field(), "quotas");
  EXPECT_THAT(refused.status().fix(),
              HasSubstr("glim admin quota set user:kim high 6; glim admin quota remove user:lee low"));
}

TEST(QuotaImport, WhereRowsAreAlreadyNothingIsImported) {
  core::Accounts accounts;
  accounts.Change({core::QuotaRow{{QuotaOf::kUser, "ann"}, PriorityClass::kHigh, 1}});
  const auto refused = PlanQuotaImport(accounts, PolicyOf(kQuotas));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().fix(), HasSubstr("glim admin team set vision --weight 200"));
  EXPECT_THAT(refused.status().message(), HasSubstr("rows already"));
}

TEST(QuotaImport, WithoutQuotasNothingHappens) {
  const auto plan = PlanQuotaImport({}, core::Policy());
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->event);
  EXPECT_THAT(plan->words, IsEmpty());
}

}  // namespace
}  // namespace glim::server
