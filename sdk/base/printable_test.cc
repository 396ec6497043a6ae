#include "sdk/base/printable.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(Printable, StaysShortAndForgesNothing) {
  EXPECT_EQ(Printable("a\nb\xc3\xb6"), "a?b??");
  EXPECT_EQ(Printable("a\" level=\"x"), "a? level=?x");
  EXPECT_EQ(Printable(std::string(64, 'x')), std::string(64, 'x'));
  EXPECT_EQ(Printable(std::string(100, 'x')), std::string(61, 'x') + "...");
}

TEST(Escaped, ShowsWhatWouldMoveTheCursor) {
  EXPECT_EQ(Escaped("a\x1b[31m\n\t\r\x07"), "a\\x1b[31m\\n\\t\\r\\x07");
  EXPECT_EQ(Escaped("\xc2\x9b"
                    "2J"),
            "\\u009b2J");
  EXPECT_EQ(Escaped("\xe2\x80\xae"
                    "txt"),
            "\\u202etxt");
  EXPECT_EQ(Escaped("\xff\xc3"), "\\xff\\xc3");
}

TEST(Escaped, ShowsWhatNobodySees) {
  const struct {
    const char* text;
    const char* shown;
  } kRows[] = {
      {"soft\xc2\xad hyphen", "soft\\u00ad hyphen"},
      {"zero\xe2\x80\x8b"
       "width",
       "zero\\u200bwidth"},
      {"word\xe2\x81\xa0"
       "joiner",
       "word\\u2060joiner"},
      {"\xef\xbb\xbforder", "\\ufefforder"},
      {"filler\xe3\x85\xa4", "filler\\u3164"},
      {"lines\xe2\x80\xa8"
       "and\xe2\x80\xa9"
       "paragraphs",
       "lines\\u2028and\\u2029paragraphs"},
      {"\xd8\x9c\xe2\x80\x8e\xe2\x81\xa6", "\\u061c\\u200e\\u2066"},
      {"tag\xf3\xa0\x81\x81", "tag\\U000e0041"},
  };
  for (const auto& row : kRows) EXPECT_EQ(Escaped(row.text), row.shown);
}

TEST(Escaped, LeavesWhatScriptsAndEmojiNeed) {
  for (const char* text : {"\xd9\x86\xd9\x85\xe2\x80\x8c\xd9\x87\xd8\xa7",
                           "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", "\xe2\x9d\xa4\xef\xb8\x8f",
                           "10\xc2\xa0"
                           "000"}) {
    EXPECT_EQ(Escaped(text), text);
  }
  EXPECT_EQ(Escaped("\xe8\xae\xad\xe7\xbb\x83 ok"), "\xe8\xae\xad\xe7\xbb\x83 ok");
}

TEST(EscapedStart, CutsBetweenCharacters) {
  EXPECT_EQ(EscapedStart("a\nb", 3), "a\\nb");
  EXPECT_EQ(EscapedStart("\xe8\xae\xad\xe7\xbb\x83 ok", 1), "\xe8\xae\xad...");
}

}  // namespace
}  // namespace glim
