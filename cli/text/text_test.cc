#include <gtest/gtest.h>

#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

TEST(Text, EscapesWhatWouldMoveTheCursor) {
  EXPECT_EQ(EscapeForTerminal("a\x1b[31m\n\t\r\x07"), "a\\x1b[31m\\n\\t\\r\\x07");
  EXPECT_EQ(EscapeForTerminal("\xc2\x9b"
                              "2J"),
            "\\u009b2J");
  EXPECT_EQ(EscapeForTerminal("\xe2\x80\xae"
                              "txt"),
            "\\u202etxt");
  EXPECT_EQ(EscapeForTerminal("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(EscapeForTerminal("\xe8\xae\xad\xe7\xbb\x83 ok"), "\xe8\xae\xad\xe7\xbb\x83 ok");
  EXPECT_EQ(EscapeJsonForTerminal("{\"a\":\"\xc2\x9b\x7f\xe4\xb8\xad\"}\n"),
            "{\"a\":\"\\u009b\\u007f\xe4\xb8\xad\"}\n");
}

TEST(Text, Utf8IsStrict) {
  EXPECT_EQ(FirstInvalidUtf8("plain \xe4\xb8\xad \xf0\x9f\x9a\x80"), std::string::npos);
  for (const std::string bad :
       {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe4\xb8", "\xf8\x88\x80\x80\x80"}) {
    EXPECT_EQ(FirstInvalidUtf8("ab" + bad), 2u) << testing::PrintToString(bad);
  }
}

TEST(Text, WidthIsInCells) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("\xe8\xae\xad\xe7\xbb\x83"), 4);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1);
  EXPECT_EQ(Shorten("abcdefgh", 6), "abc...");
  EXPECT_EQ(Shorten("\xe8\xae\xad\xe7\xbb\x83\xe8\xae\xad\xe7\xbb\x83", 6), "\xe8\xae\xad...");
  EXPECT_EQ(Shorten("abc", 3), "abc");
}

TEST(Text, ShellQuoting) {
  EXPECT_EQ(ShellQuote("a-b/c=d"), "a-b/c=d");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuote("*"), "'*'");
}

TEST(Durations, ParseAndFormat) {
  EXPECT_EQ(ParseDuration("500ms")->ms, 500);
  EXPECT_EQ(ParseDuration("60s")->ms, 60'000);
  EXPECT_EQ(ParseDuration("5m")->ms, 300'000);
  EXPECT_EQ(ParseDuration("12h")->ms, 43'200'000);
  EXPECT_EQ(ParseDuration("7d")->ms, 604'800'000);
  for (const char* bad : {"", "5", "s", "-5s", "+5s", "5 s", "5S", "1.5h", "5sec", "99999999999999999999s", "36501d"}) {
    EXPECT_FALSE(ParseDuration(bad)) << bad;
  }
  EXPECT_EQ(FormatDuration({250}), "250 ms");
  EXPECT_EQ(FormatDuration({12'340}), "12.3 s");
  EXPECT_EQ(FormatDuration({60'000}), "1 min");
  EXPECT_EQ(FormatDuration({303'000}), "5 min 3 s");
  EXPECT_EQ(FormatDuration({7'500'000}), "2 h 5 min");
  EXPECT_EQ(FormatDuration({273'600'000}), "3 d 4 h");
  EXPECT_EQ(FormatDuration({-1}), "-");
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
