// Lines out and in again, and the baseline between.
#include "nodeagent/programs/validate/json_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "nodeagent/validate/judge.h"

namespace glim::validate {
namespace {

using ::testing::IsEmpty;

Reading Piece(const char* device, double value, const char* wrong = "") {
  return {.part = "cpu", .what = "piece", .device = device, .value = value, .wrong = wrong, .note = ""};
}

TEST(ALine, HasWhatWasMeasuredAndWhatIsSaidOfIt) {
  const auto verdicts = Judge({Piece("cpu0", 20), Piece("cpu1", 80)}, {});
  const auto line = nlohmann::json::parse(JsonLineOf(verdicts[1]));
  EXPECT_EQ(line["part"], "cpu");
  EXPECT_EQ(line["device"], "cpu1");
  EXPECT_EQ(line["value"], 80);
  EXPECT_EQ(line["unit"], "ms");
  EXPECT_EQ(line["expected"], 20);
  EXPECT_EQ(line["ratio"], 0.25);
  EXPECT_EQ(line["ok"], false);
  EXPECT_EQ(line["text"], verdicts[1].text);
  const auto alone = nlohmann::json::parse(JsonLineOf(Judge({Piece("cpu0", 20)}, {})[0]));
  EXPECT_TRUE(alone["expected"].is_null() && alone["ratio"].is_null() && alone["ok"] == true);
}

TEST(Lines, AreReadAgainAndOthersLeftOut) {
  std::string lines = "a warning of something else\n{\"part\": 3}\n";
  for (const Verdict& verdict :
       Judge({Piece("cpu0", 20), Piece("cpu1", 80), Piece("cpu2", 20, "a wrong answer")}, {})) {
    lines += JsonLineOf(verdict);
  }
  const std::vector<Reading> read = ReadingsFrom(lines);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[0], Piece("cpu0", 20));
  EXPECT_EQ(read[1], Piece("cpu1", 80)) << "slow is a value, and not wrong";
  EXPECT_FALSE(read[2].wrong.empty());
  EXPECT_THAT(ReadingsFrom(""), IsEmpty());
}

TEST(ABaseline, IsReadAsItWasWritten) {
  const Baseline baseline = {{{"cpu", "piece"}, {20.5, 9}}, {{"disk", "write"}, {1000, 3}}};
  const Result<Baseline> read = ParseBaseline(BaselineText(baseline));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, baseline);
}

TEST(ABaseline, ThatIsNoneIsRefused) {
  for (const char* text :
       {"", "{}", "[1]", "{\"version\": 2, \"expected\": []}", "{\"version\": 1}",
        "{\"version\": 1, \"expected\": [{\"part\": \"cpu\"}]}",
        "{\"version\": 1, \"expected\": [{\"part\": \"cpu\", \"what\": \"piece\", \"value\": 0}]}"}) {
    EXPECT_EQ(ParseBaseline(text).status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ABaseline, IsARowOfThePolicyWithoutWhatIsNotJudged) {
  const Baseline baseline = {
      {{"cpu", "piece"}, {41.66636900117737, 9}}, {{"disk", "write"}, {882, 3}}, {{"memory", "patterns"}, {268, 3}}};
  EXPECT_EQ(PolicyRowText(baseline), "{expected: {cpu.piece: 41.6664, disk.write: 882}}\n");
}

TEST(ABaseline, ByWordsIsWhatTheSchedulerAsksFor) {
  EXPECT_EQ(*ParseExpected({}), Baseline());
  EXPECT_EQ(*ParseExpected({"cpu.piece=41.6664", "gpu.tensor=5e+02"}),
            (Baseline{{{"cpu", "piece"}, {41.6664, 0}}, {{"gpu", "tensor"}, {500, 0}}}));
  for (const char* word : {"", "cpu.piece", "cpu.piece=", "cpu.piece=fast", "cpu.piece=1x", "cpu.piece=0", "gears.x=1",
                           "cpu=piece.1", "=1", "cpu.piece=-2"}) {
    const auto read = ParseExpected({"disk.write=1", word});
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument) << word;
    EXPECT_THAT(read.status().message(), ::testing::HasSubstr(std::string("'") + word + "'"));
  }
}

}  // namespace
}  // namespace glim::validate
