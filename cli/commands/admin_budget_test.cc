// Budgets of teams: what was said crosses the network, what will change is shown, and nothing is done unasked.
#include <gmock/gmock.h>

#include "cli/testing/cli_fixture.h"
#include "sdk/base/time.h"

namespace glim::cli {
namespace {

using testing::HasSubstr;

class BudgetTest : public CliTest {
 protected:
  static glim::v1::Budget Vision() {
    glim::v1::Budget row;
    row.set_team("vision");
    row.set_gpu_ms_max(Hours(1000).ms);
    row.set_used_gpu_ms(Hours(1250).ms);
    row.set_since_ms(1'796'112'000'000);  // 2026-12-01T08:00Z
    row.set_made_by("ora");
    return row;
  }
};

TEST_F(BudgetTest, IsShownAsItWasAndAsItWillBeAndThenMade) {
  server_.Lock()->budgets.push_back(Vision());
  const GlimResult result = Glim({"admin", "budget", "set", "vision", "--gpu-hours", "2000", "-y"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "budget of team vision\n"
            "  - 1000.0 GPU-hours, of which 1250.0 GPU-hours are used since 2026-12-01T08:00:00.000Z\n"
            "  + 2000.0 GPU-hours, of which 1250.0 GPU-hours are used since 2026-12-01T08:00:00.000Z\n");
  const auto state = server_.Lock();
  ASSERT_EQ(state->budgets_set.size(), 2u);
  EXPECT_TRUE(state->budgets_set[0].dry_run());
  EXPECT_FALSE(state->budgets_set[1].dry_run());
  EXPECT_EQ(state->budgets_set[1].gpu_ms_max(), Hours(2000).ms);
  EXPECT_EQ(state->budgets_set[1].expect(), "as-seen");
}

TEST_F(BudgetTest, OneThatIsUsedUpSaysSo) {
  server_.Lock()->budgets.push_back(Vision());
  const GlimResult result = Glim({"admin", "budget", "set", "vision", "--gpu-hours", "1100", "--dry-run"});
  EXPECT_THAT(result.out, HasSubstr("it is used up: none of the team's jobs starts; what runs runs on\n"));
  EXPECT_EQ(result.err, "nothing was changed\n");
  EXPECT_EQ(server_.Lock()->budgets_set.size(), 1u);
}

TEST_F(BudgetTest, IsTakenAway) {
  server_.Lock()->budgets.push_back(Vision());
  EXPECT_EQ(Glim({"admin", "budget", "rm", "vision", "-y"}).exit_code, 0);
  EXPECT_TRUE(server_.Lock()->budgets_set.back().remove());
}

TEST_F(BudgetTest, AllAreListedWithWhatIsUsed) {
  EXPECT_EQ(Glim({"admin", "budget", "ls"}).out, "no team has a budget\n");
  server_.Lock()->budgets.push_back(Vision());
  EXPECT_THAT(Glim({"admin", "budget", "ls"}).out,
              HasSubstr("vision  1000.0 GPU-hours  1250.0 GPU-hours  125.0 %  2026-12-01T08:00:00.000Z  ora\n"));
}

TEST_F(BudgetTest, WithoutAnAmountIsRefused) {
  EXPECT_EQ(Glim({"admin", "budget", "set", "vision"}).exit_code, 2);
  EXPECT_THAT(Glim({"admin", "budget", "set", "vision", "--gpu-hours", "0"}).err, HasSubstr("--gpu-hours"));
}

}  // namespace
}  // namespace glim::cli
