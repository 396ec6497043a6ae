// What is too slow, against what; what is wrong whatever its speed; what a fleet's baseline is made of.
#include "nodeagent/validate/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodeagent/validate/rules.h"

namespace glim::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Reading Of(const char* part, const char* what, const char* device, double value) {
  return {.part = part, .what = what, .device = device, .value = value, .wrong = "", .note = ""};
}

std::vector<bool> OksOf(const std::vector<Verdict>& verdicts) {
  std::vector<bool> oks;
  for (const Verdict& verdict : verdicts) oks.push_back(verdict.ok);
  return oks;
}

struct Case {
  const char* name;
  std::vector<Reading> readings;
  Baseline baseline;
  std::vector<bool> oks;
};

const Case kCases[] = {
    {"threads alike", {Of("cpu", "piece", "cpu0", 20), Of("cpu", "piece", "cpu1", 21)}, {}, {true, true}},
    {"one of two threads takes twice the time",
     {Of("cpu", "piece", "cpu0", 20), Of("cpu", "piece", "cpu1", 41)},
     {},
     {true, false}},
    {"one of four, just above 0.7",
     {Of("cpu", "piece", "cpu0", 20), Of("cpu", "piece", "cpu1", 20), Of("cpu", "piece", "cpu2", 28),
      Of("cpu", "piece", "cpu3", 29)},
     {},
     {true, true, true, false}},
    {"all threads are slow, and the fleet knows",
     {Of("cpu", "piece", "cpu0", 40), Of("cpu", "piece", "cpu1", 40)},
     {{{"cpu", "piece"}, {20, 9}}},
     {false, false}},
    {"all threads are slow, and nobody knows",
     {Of("cpu", "piece", "cpu0", 40), Of("cpu", "piece", "cpu1", 40)},
     {},
     {true, true}},
    {"a disk alone has no measure", {Of("disk", "write", "/ckpt", 3)}, {}, {true}},
    {"folders are no measure for each other",
     {Of("disk", "write", "/ckpt", 3), Of("disk", "write", "/local", 3000)},
     {},
     {true, true}},
    {"a disk slower than half of the fleet's",
     {Of("disk", "write", "/ckpt", 490)},
     {{{"disk", "write"}, {1000, 5}}},
     {false}},
    {"a disk as fast as half of the fleet's",
     {Of("disk", "write", "/ckpt", 500)},
     {{{"disk", "write"}, {1000, 5}}},
     {true}},
    {"fsync that takes four times as long", {Of("disk", "fsync", "/ckpt", 8)}, {{{"disk", "fsync"}, {2, 5}}}, {false}},
    {"one direction of a pair",
     {Of("network", "stream", "a -> b", 100), Of("network", "stream", "b -> a", 1200)},
     {},
     {false, true}},
    {"an amount is told, not judged",
     {Of("memory", "patterns", "node0", 10)},
     {{{"memory", "patterns"}, {100'000, 5}}},
     {true}},
};

TEST(Judgement, IsByTheFleetThenByTheNodesOwn) {
  for (const Case& one : kCases) {
    const std::vector<Verdict> verdicts = Judge(one.readings, one.baseline);
    EXPECT_EQ(OksOf(verdicts), one.oks) << one.name;
    EXPECT_EQ(AllOk(verdicts), std::find(one.oks.begin(), one.oks.end(), false) == one.oks.end()) << one.name;
  }
}

TEST(Judgement, AWrongAnswerFailsHoweverFast) {
  Reading wrong = Of("cpu", "piece", "cpu1", 20);
  wrong.wrong = "a wrong answer: 0x1 for 0x2";
  const std::vector<Verdict> verdicts = Judge({Of("cpu", "piece", "cpu0", 20), wrong}, {});
  EXPECT_THAT(OksOf(verdicts), ElementsAre(true, false));
  EXPECT_EQ(verdicts[1].text, "cpu piece cpu1: a wrong answer: 0x1 for 0x2");
  EXPECT_FALSE(SlowOnly(verdicts[1]));
}

TEST(Judgement, NamesTheDeviceAndBothNumbers) {
  Reading slow = Of("cpu", "piece", "cpu1", 41.2);
  slow.note = "it had 12 % of the CPU";
  const std::vector<Verdict> verdicts = Judge({Of("cpu", "piece", "cpu0", 20.6), slow}, {});
  EXPECT_EQ(
      verdicts[1].text,
      "cpu piece cpu1: too slow: 41.20 ms, 0.50 of the expected 20.60 ms, at least 0.70 is wanted; it had 12 % of "
      "the CPU");
  EXPECT_EQ(verdicts[0].text, "cpu piece cpu0: 20.60 ms, 1.00 of the expected 20.60 ms");
  EXPECT_TRUE(SlowOnly(verdicts[1]));
}

TEST(MeasuredAgain, TheBetterValueCounts) {
  const std::vector<Reading> first = {Of("cpu", "piece", "cpu0", 20), Of("cpu", "piece", "cpu1", 60),
                                      Of("memory", "copy", "node0", 3)};
  const std::vector<Reading> again = {Of("cpu", "piece", "cpu0", 25), Of("cpu", "piece", "cpu1", 21),
                                      Of("memory", "copy", "node0", 9)};
  const std::vector<Reading> better = BetterOf(first, again);
  EXPECT_EQ(better[0].value, 20);
  EXPECT_EQ(better[1].value, 21);
  EXPECT_EQ(better[2].value, 9);
}

TEST(MeasuredAgain, AWrongAnswerStaysWrong) {
  Reading wrong = Of("cpu", "piece", "cpu0", 20);
  wrong.wrong = "a wrong answer";
  EXPECT_EQ(BetterOf({wrong}, {Of("cpu", "piece", "cpu0", 10)})[0].wrong, "a wrong answer");
  EXPECT_EQ(BetterOf({Of("cpu", "piece", "cpu0", 10)}, {wrong})[0].wrong, "a wrong answer");
}

TEST(ABaseline, IsTheMedianOfTheNodesMedians) {
  const std::vector<Reading> good = {Of("cpu", "piece", "cpu0", 20), Of("cpu", "piece", "cpu1", 20),
                                     Of("disk", "write", "/ckpt", 1000)};
  const std::vector<Reading> better = {Of("cpu", "piece", "cpu0", 18), Of("disk", "write", "/ckpt", 1200)};
  const std::vector<Reading> lemon = {Of("cpu", "piece", "cpu0", 90), Of("disk", "write", "/ckpt", 10)};
  Reading broken = Of("disk", "write", "/ckpt", 99'999);
  broken.wrong = "what was read is not what was written";
  const Baseline baseline = Merge({good, better, lemon, {broken}});
  EXPECT_EQ(baseline.at({"cpu", "piece"}), (Expected{20, 3}));
  EXPECT_EQ(baseline.at({"disk", "write"}), (Expected{1000, 3}));
  EXPECT_EQ(baseline.size(), 2u);
}

TEST(TheTypicalValue, IsTheMedianAndOfTwoTheBetter) {
  EXPECT_EQ(Typical({3, 1, 2}, true), 2);
  EXPECT_EQ(Typical({3, 1, 2}, false), 2);
  EXPECT_EQ(Typical({10, 20}, true), 20);
  EXPECT_EQ(Typical({10, 20}, false), 10);
}

TEST(Rules, AreNamedOnce) {
  for (const Rule& rule : kRules) EXPECT_EQ(RuleOf(rule.part, rule.what), &rule) << rule.part << " " << rule.what;
  EXPECT_EQ(RuleOf("cpu", "no such thing"), nullptr);
  EXPECT_TRUE(Judge({Of("cpu", "no such thing", "cpu0", 1)}, {}).empty());
}

TEST(Numbers, AreShownWithTwoDigitsBelowAHundred) {
  EXPECT_EQ(Shown(0.5), "0.50");
  EXPECT_EQ(Shown(9.999), "10.00");
  EXPECT_EQ(Shown(41.2), "41.20");
  EXPECT_EQ(Shown(1234.4), "1234");
  EXPECT_THAT(Shown(0.049), HasSubstr("0.05"));
}

}  // namespace
}  // namespace glim::validate
