// Two policies side by side: values, ranges over drawn days, and the range of the change.
#include "cli/simulate/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace glim::cli {
namespace {

using testing::HasSubstr;

Json History(double wait, double interrupts) {
  return {{"classes", {{"all", {{"jobs", 5}, {"wait_p50_s", wait}, {"wait_p99_s", 10 * wait}}}}},
          {"interrupts", interrupts},
          {"lost_gpu_hours", 1.25},
          {"utilisation", 0.5},
          {"goodput", 0.75},
          {"makespan_s", 86'400}};
}

// Twenty histories of drawn days, whose waits are 1, 2, ... times `step`.
Json Document(double wait, double interrupts, double step) {
  Json document{{"history", History(wait, interrupts)}, {"resampled", Json::array()}};
  for (int i = 1; i <= 20; ++i) document["resampled"].push_back(History(step * i, interrupts));
  return document;
}

TEST(Compare, RangesHoldNineTenthsAndTheChangeIsRunByRun) {
  const auto figures = Compare(Document(60, 3, 10), Document(30, 8, 8));
  ASSERT_TRUE(figures.ok()) << figures.status().message();
  const Compared& wait = figures->front();
  EXPECT_EQ(wait.name, "wait p50, all");
  EXPECT_EQ(wait.key, "classes.all.wait_p50_s");
  EXPECT_EQ(wait.present.value, 60);
  EXPECT_EQ(wait.present.low, 10);
  EXPECT_EQ(wait.present.high, 190);
  EXPECT_EQ(wait.other.high, 152);
  EXPECT_EQ(wait.change.value, -30);
  EXPECT_EQ(wait.change.low, -40) << "of the twentieth run: 8 x 20 - 10 x 20";
  EXPECT_EQ(wait.change.high, -4);
  const std::string table = ComparedTable(*figures, true, false);
  EXPECT_THAT(table, HasSubstr("FIGURE"));
  EXPECT_THAT(table, HasSubstr("wait p50, all"));
  EXPECT_THAT(table, HasSubstr("-30 s"));
  EXPECT_THAT(table, HasSubstr("+5"));
  EXPECT_THAT(table, HasSubstr("75.0 %"));
  EXPECT_THAT(ComparedTable(*figures, false, false), testing::Not(HasSubstr("RANGE")));
  const Json json = ComparedJson(*figures, true);
  EXPECT_EQ(json[0]["change"]["value"], -30);
  EXPECT_EQ(json[0]["present"]["high"], 190);
  EXPECT_FALSE(ComparedJson(*figures, false)[0]["present"].contains("high"));
}

// A class that only some of the drawn histories have is told by these.
TEST(Compare, AClassThatADrawnHistoryLacks) {
  Json present = Document(60, 3, 10);
  present["resampled"][0]["classes"] = Json::object();
  const auto figures = Compare(present, Document(30, 8, 8));
  ASSERT_TRUE(figures.ok());
  EXPECT_EQ(figures->front().present.low, 20);
}

TEST(Compare, WhatIsNoAnswerIsRefused) {
  EXPECT_EQ(Compare(Json::object(), Document(1, 1, 1)).status().reason(), "BAD_SIMULATOR");
  EXPECT_EQ(Compare(Document(1, 1, 1), Json{{"history", 5}}).status().reason(), "BAD_SIMULATOR");
}

}  // namespace
}  // namespace glim::cli
