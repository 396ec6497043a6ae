#include <gtest/gtest.h>

#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

TEST(Text, JsonHasNothingThatMovesTheCursor) {
  EXPECT_EQ(EscapeJsonForTerminal("{\"a\":\"\xc2\x9b\x7f\xe4\xb8\xad\"}\n"),
            "{\"a\":\"\\u009b\\u007f\xe4\xb8\xad\"}\n");
}

TEST(Text, WidthIsInCells) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\xe8\xae\xad\xe7\xbb\x83"), 4);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1);
  EXPECT_EQ(DisplayWidth("\xf0\x9f\x9a\x80"), 2) << "an emoji";
  EXPECT_EQ(DisplayWidth("\xef\xbc\xa1"), 2) << "a full-width letter";
  EXPECT_EQ(DisplayWidth("\xff"), 1) << "no character";
  EXPECT_EQ(Shorten("abcdefgh", 6), "abc...");
  EXPECT_EQ(Shorten("\xe8\xae\xad\xe7\xbb\x83\xe8\xae\xad\xe7\xbb\x83", 6), "\xe8\xae\xad...");
  EXPECT_EQ(Shorten("abc", 3), "abc");
}

TEST(Text, ShellQuoting) {
  EXPECT_EQ(ShellQuote("a-b/c=d"), "a-b/c=d");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("*"), "'*'");
}

TEST(Times, RelativeAndRfc3339) {
  const TimePoint now{1'763'640'547'125};
  EXPECT_EQ(FormatAgo(now - Seconds(12), now), "12 s ago");
  EXPECT_EQ(FormatAgo(now - Minutes(3), now), "3 min ago");
  EXPECT_EQ(FormatAgo(now + Minutes(3), now), "just now");
  EXPECT_EQ(FormatAgo({0}, now), "-");
  EXPECT_EQ(FormatRfc3339(now), "2025-11-20T12:09:07.125Z");
}

TEST(Suggest, NearWordsOnly) {
  constexpr std::string_view kWords[] = {"nodes", "name", "gpus_per_node", "run"};
  EXPECT_EQ(EditDistance("node", "nodes"), 1);
  EXPECT_EQ(EditDistance("nodse", "nodes"), 1);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(Nearest("Nodes", kWords), "nodes");
  EXPECT_EQ(Nearest("gpus-per-node", kWords), "gpus_per_node");
  EXPECT_EQ(Nearest("rnu", kWords), "run");
  EXPECT_EQ(Nearest("frobnicate", kWords), "");
}

}  // namespace
}  // namespace glim::cli
