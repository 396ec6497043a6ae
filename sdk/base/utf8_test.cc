#include "sdk/base/utf8.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(Utf8, TakesEveryLengthAtItsEdges) {
  for (const char* text : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "gr\xc3\xb6\xc3\x9f\x65"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
}

TEST(Utf8, RefusesWhatIsNoCharacter) {
  for (const char* text :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf0\x90\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "ok\xfe"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
  EXPECT_FALSE(IsUtf8(std::string_view("\xe2\x82\xac", 2))) << "cut in the middle of a character";
}

TEST(Utf8, FindsControlCharacters) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view text : {"\0"sv, "a\n"sv, "\x1f"sv, "\x7f"sv, "\xc2\x80"sv, "\xc2\x9f"sv}) {
    EXPECT_TRUE(HasControl(text)) << text;
  }
  for (const std::string_view text : {""sv, "a b"sv, "\xc2\xa0"sv, "\xc3\x80"sv, "\xe2\x82\xac"sv}) {
    EXPECT_FALSE(HasControl(text)) << text;
  }
}

}  // namespace
}  // namespace glim
