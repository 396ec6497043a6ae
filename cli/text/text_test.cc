#include <gtest/gtest.h>

#include "cli/text/option_names.h"
#include "cli/text/text.h"
#include "cli/text/time_text.h"
#include "sdk/base/suggest.h"

namespace glim::cli {
namespace {

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

TEST(Times, AMomentHasItsZone) {
  const TimePoint eight{1'796'112'000'000};
  for (const char* text : {"2026-12-01T08:00Z", "2026-12-01T08:00:00Z", "2026-12-01T10:00+02:00",
                           "2026-12-01T10:00:00+02:00", "2026-12-01T02:30-05:30", "2026-12-01T22:00+14:00"}) {
    const auto moment = ParseMoment(text);
    ASSERT_TRUE(moment.has_value()) << text;
    EXPECT_EQ(moment->ms, eight.ms) << text;
  }
  EXPECT_EQ(ParseMoment("2026-12-01")->ms, eight.ms - Hours(8).ms);
  for (const char* text :
       {"2026-12-01T08:00", "2026-12-01T08:00+2:00", "2026-12-01T08:00+02", "2026-12-01T08:00 02:00",
        "2026-12-01T08:00+15:00", "2026-12-01T08:00+02:60", "2026-12-01+02:00", "2026-12-01Z", "2026-12-01T+02:00"}) {
    EXPECT_FALSE(ParseMoment(text).has_value()) << text;
  }
}

TEST(OptionNames, ARefusalNamesWhatWasTyped) {
  const auto field = [](const char* name) { return WithOptionNames(InvalidArgument(name, "it is wrong")).field(); };
  EXPECT_EQ(field("ends_at_ms"), "--until");
  EXPECT_EQ(field("labels.gpu_count"), "--gpus");
  EXPECT_EQ(field("labels.zone"), "--zone");
  EXPECT_EQ(field("something"), "something");
  const Status all = WithOptionNames(Status(StatusCode::kNotFound, "m").WithReason("R").WithField("node").WithFix("f"));
  EXPECT_EQ(all, Status(StatusCode::kNotFound, "m").WithReason("R").WithField("NODE").WithFix("f"));
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
