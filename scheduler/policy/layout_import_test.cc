// A policy file's pools, zones and links become rows once; afterwards the rows count.
#include "scheduler/policy/layout_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glim::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;

constexpr char kLayout[] =
    "pools: [a100, h100]\nzones: [C]\nlinks:\n  - {zone_a: B, zone_b: A, jobs_max: 2, pairs_max: 4}\n";

PolicyFile LayoutFileOf(const std::string& text) {
  auto file = ReadPolicyText(text, "test");
  EXPECT_TRUE(file.ok()) << file.status().message();
  return file.ok() ? *file : PolicyFile();
}

core::Accounts RowsAfter(core::Accounts accounts, const core::ChangeAccounts& event) {
  for (const core::AccountChange& change : event.changes) accounts.Change(change);
  return accounts;
}

core::Accounts ImportedLayout(const std::string& text) {
  const auto plan = PlanLayoutImport({}, LayoutFileOf(text));
  EXPECT_TRUE(plan.ok() && plan->event);
  return plan.ok() && plan->event ? RowsAfter({}, *plan->event) : core::Accounts();
}

TEST(LayoutImport, NamesAndLinksBecomeRows) {
  const core::Accounts accounts = ImportedLayout(kLayout);
  EXPECT_THAT(accounts.pools, ElementsAre(Key("a100"), Key("h100")));
  EXPECT_THAT(accounts.zones, ElementsAre(Key("C")));
  EXPECT_EQ(accounts.links.at({"A", "B"}), (core::ZoneLink{"A", "B", 2, 4}));
  const auto plan = PlanLayoutImport({}, LayoutFileOf(kLayout));
  EXPECT_THAT(plan->words, ElementsAre("pool a100: known", "pool h100: known", "zone C: known",
                                       "link B-A: jobs_max 2, pairs_max 4"));
}

TEST(LayoutImport, TheSameTextIsAcceptedWithAWarning) {
  const auto again =
      PlanLayoutImport(ImportedLayout(kLayout), LayoutFileOf(std::string("quantum_min: 5m\n") + kLayout));
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->event);
  EXPECT_THAT(again->warning, HasSubstr("glim admin link ls"));
  const auto none = PlanLayoutImport(ImportedLayout(kLayout), LayoutFileOf("quantum_min: 5m\n"));
  EXPECT_TRUE(none.ok() && !none->event && none->warning.empty());
}

TEST(LayoutImport, AChangedTextIsRefusedWithTheCommands) {
  const auto refused = PlanLayoutImport(ImportedLayout(kLayout),
                                        LayoutFileOf("zones: [C, D]\nlinks: [{zone_a: A, zone_b: B, jobs_max: 1}]\n"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().reason(), "LAYOUT_IMPORTED");
  EXPECT_EQ(refused.status().field(), "zones");
  EXPECT_THAT(refused.status().fix(), HasSubstr("glim admin link set A B --jobs-max 1 --pairs-max 1; glim admin zone "
                                                "set D; glim admin pool rm a100; glim admin pool rm h100"));
}

TEST(LayoutImport, WhereRowsAreAlreadyNothingIsImported) {
  core::Accounts accounts;
  accounts.Change({core::PoolRow{"a100"}});
  const auto refused = PlanLayoutImport(accounts, LayoutFileOf(kLayout));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("rows already"));
  EXPECT_THAT(refused.status().fix(), HasSubstr("glim admin link set B A --jobs-max 2 --pairs-max 4"));
}

// A cluster that has had rows of quotas for long meets its first scheduler that knows rows of links.
TEST(LayoutImport, QuotasAndTheLayoutAreImportedEachForItself) {
  const std::string quotas = "quotas: {users: {kim: {high: 4}}}\n";
  const auto both = PlanPolicyImport({}, LayoutFileOf(quotas + kLayout));
  ASSERT_TRUE(both.ok() && both->event);
  const core::Accounts all = RowsAfter({}, *both->event);
  EXPECT_EQ(all.quotas.size(), 1u);
  EXPECT_EQ(all.links.size(), 1u);

  const auto first = PlanPolicyImport({}, LayoutFileOf(quotas));
  ASSERT_TRUE(first.ok() && first->event);
  const core::Accounts old = RowsAfter({}, *first->event);
  const auto later = PlanPolicyImport(old, LayoutFileOf(quotas + kLayout));
  ASSERT_TRUE(later.ok() && later->event);
  EXPECT_EQ(RowsAfter(old, *later->event), all);
  EXPECT_THAT(later->warnings, ElementsAre(HasSubstr("glim admin quota list")));
}

TEST(LayoutImport, WithoutALayoutNothingHappens) {
  const auto plan = PlanPolicyImport({}, PolicyFile());
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->event);
  EXPECT_THAT(plan->words, IsEmpty());
}

}  // namespace
}  // namespace glim::server
