#include "sdk/base/line_search.h"

#include <gtest/gtest.h>

#include <vector>

#include "sdk/base/utf8.h"

namespace glim {
namespace {

std::vector<std::string> Lines(std::string_view text, std::string_view word, bool ignore_case = false) {
  LineSearch search(word, ignore_case);
  search.SetText(text);
  std::vector<std::string> lines;
  for (std::size_t from = 0;;) {
    const auto hit = search.Next(from);
    if (!hit) return lines;
    lines.emplace_back(text.substr(hit->begin, hit->end - hit->begin));
    from = hit->end + 1;
  }
}

TEST(LineSearchTest, EachLineWithTheWordIsFoundOnce) {
  using Found = std::vector<std::string>;
  constexpr std::string_view kText = "a nan b nan\nnothing\nNaN\n\nlast nan";
  EXPECT_EQ(Lines(kText, "nan"), (Found{"a nan b nan", "last nan"}));
  EXPECT_EQ(Lines(kText, "nan", true), (Found{"a nan b nan", "NaN", "last nan"}));
  EXPECT_EQ(Lines(kText, "NAN", true), (Found{"a nan b nan", "NaN", "last nan"}));
  EXPECT_EQ(Lines(kText, "a"), (Found{"a nan b nan", "NaN", "last nan"}));
  EXPECT_EQ(Lines(kText, "b nan\nno"), (Found{"a nan b nan"})) << "by where the word begins";
  EXPECT_EQ(Lines(kText, ""), Found{});
  EXPECT_EQ(Lines("", "nan"), Found{});
  EXPECT_EQ(Lines("nan", "nan"), (Found{"nan"}));
  EXPECT_EQ(Lines("na", "nan"), Found{});
  EXPECT_EQ(Lines("[@`{", "[@`{", true), (Found{"[@`{"})) << "no letters";
  EXPECT_EQ(Lines("{`@[", "[@`{", true), Found{});
  EXPECT_EQ(Lines("\xC3\x84", "\xC3\xA4", true), Found{}) << "only ASCII letters have two cases here";
}

TEST(LineSearchTest, LettersAloneAreAlikeWhereverTheyStand) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\n') continue;
    const char c = static_cast<char>(byte);
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    const char other = upper   ? static_cast<char>(c + 32)
                       : lower ? static_cast<char>(c - 32)
                               : static_cast<char>(c ^ 32);
    for (std::size_t at = 0; at < 17; ++at) {
      const std::string text = std::string(at, '.') + other + std::string(17 - at, '.');
      EXPECT_EQ(Lines(text, std::string(1, c) + ".", true).size(), upper || lower || c == '.' ? 1u : 0u) << byte;
    }
  }
}

TEST(LineSearchTest, TheHitSaysWhereTheWordStands) {
  LineSearch search("oom", false);
  search.SetText("one\na room\n");
  EXPECT_EQ(search.Next(0), (LineHit{4, 10, 7}));
  EXPECT_EQ(search.Next(4), (LineHit{4, 10, 7}));
  EXPECT_EQ(search.Next(11), std::nullopt);
  EXPECT_EQ(search.Next(100), std::nullopt);
}

TEST(LineSearchTest, ALongLineIsCutAroundTheWordAndIsAlwaysText) {
  EXPECT_EQ(ShowLine("short\r", 0).text, "short");
  EXPECT_FALSE(ShowLine("short\r", 0).cut);
  EXPECT_EQ(ShowLine("", 0).text, "");
  EXPECT_EQ(ShowLine("a\xFF"
                     "b\xC3",
                     0)
                .text,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  for (const std::size_t at : {std::size_t{0}, std::size_t{4000}, std::size_t{50'000}, std::size_t{99'994}}) {
    std::string line;
    while (line.size() < 100'000) line += "\xE2\x82\xAC";  // three bytes a character
    line.resize(100'000);
    line.replace(at, 6, "needle");
    const ShownLine shown = ShowLine(line, at);
    EXPECT_TRUE(shown.cut);
    EXPECT_NE(shown.text.find("needle"), std::string::npos) << at;
    EXPECT_LE(shown.text.size(), kShownLineBytesMax + 64) << at;
    EXPECT_TRUE(IsUtf8(shown.text)) << at;
  }
}

}  // namespace
}  // namespace glim
