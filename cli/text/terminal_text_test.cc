// What a stranger's text may do to a terminal: have colours, and nothing else.
#include "cli/text/terminal_text.h"

#include <gtest/gtest.h>

#include <string>

namespace glim::cli {
namespace {

std::string Whole(std::string_view text) {
  TerminalText all;
  std::string shown = all.Take(text);
  return shown + all.End();
}

TEST(TerminalText, WhatMovesOrRepaintsOrAsksIsShown) {
  const struct {
    std::string text, shown;
  } kRows[] = {
      {"\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"},
      {"\x1b]0;title\a", "\\x1b]0;title\\x07"},
      {"\x1b]52;c;ZWNobyBoaQ==\x1b\\", "\\x1b]52;c;ZWNobyBoaQ==\\x1b\\"},
      {"\x1bP+q\x1b\\\x1b"
       "c",
       "\\x1bP+q\\x1b\\\\x1bc"},
      {"\x1b[6n\x1b[?1049h\x1b[>4;1m", "\\x1b[6n\\x1b[?1049h\\x1b[>4;1m"},
      {"\x1b[3\x1b[1A", "\\x1b[3\\x1b[1A"},
      {"a\b\b\x7f\v\f\x0e", "a\\x08\\x08\\x7f\\x0b\\x0c\\x0e"},
      {std::string("nul\0", 4), "nul\\x00"},
      {"\xc2\x9b"
       "2J\xc2\x85",
       "\\u009b2J\\u0085"},
      {"\x9b"
       "2J\x90",
       "\\x9b2J\\x90"},
      {"\xff\xfe \xc0\x9b \xed\xa0\x80", "\\xff\\xfe \\xc0\\x9b \\xed\\xa0\\x80"},
      {"\x1b[" + std::string(100, '1') + "m", "\\x1b[" + std::string(100, '1') + "m"},
      {"ok \xe2\x80\xae"
       "dab\xe2\x80\xac \xe2\x81\xa6x\xe2\x81\xa9",
       "ok \\u202edab\\u202c \\u2066x\\u2069"},
      {"a\xe2\x80\x8b"
       "b\xe2\x80\x8e"
       "c\xd8\x9c",
       "a\\u200bb\\u200ec\\u061c"},
      {"one\xe2\x80\xa8two\xe2\x80\xa9three\xef\xbb\xbf", "one\\u2028two\\u2029three\\ufeff"},
  };
  for (const auto& row : kRows) EXPECT_EQ(Whole(row.text), row.shown);
}

TEST(TerminalText, CharactersLinesAndColoursPass) {
  for (const std::string text :
       {"step 1\tloss 0.5\r\n 50%\r100%\n", "\x1b[1;38;5;208mbold\x1b[0m", "\x1b[38:2::255:0:0mred\x1b[m",
        "\xe4\xb8\xad\xe6\x96\x87 \xf0\x9f\x9a\x80 \xc3\xa9 \xc2\xa0", ""}) {
    EXPECT_EQ(Whole(text), text);
  }
}

TEST(TerminalText, ColoursThatAreLeftOnGoOff) {
  EXPECT_EQ(Whole("\x1b[8mhidden"), "\x1b[8mhidden\x1b[0m");
  EXPECT_EQ(Whole("\x1b[31ma\x1b[0;1mb"), "\x1b[31ma\x1b[0;1mb\x1b[0m");
  EXPECT_EQ(Whole("\x1b[31ma\x1b[0;0m"), "\x1b[31ma\x1b[0;0m");
}

// However a text is cut, the same is shown, and no later than its sequence's end.
TEST(TerminalText, PiecesAreShownAsTheWholeIs) {
  const std::string text =
      "a\x1b[1;31mred\x1b[0m\x1b[2J\xe4\xb8\xad\xc2\x9b"
      "1A\x1b\x1b[\x1b[1\xf0\x9f\x9a\x80\xf0\x9f\x9a\xc3(\xe4\xb8";
  const std::string whole = Whole(text);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      TerminalText cut;
      std::string shown = cut.Take(std::string_view(text).substr(0, first));
      shown += cut.Take(std::string_view(text).substr(first, second - first));
      shown += cut.Take(std::string_view(text).substr(second));
      shown += cut.End();
      ASSERT_EQ(shown, whole) << first << " " << second;
    }
  }
  TerminalText bytes;
  std::string shown;
  for (const char c : text) shown += bytes.Take(std::string_view(&c, 1));
  EXPECT_EQ(shown + bytes.End(), whole);
}

TEST(TerminalText, NothingWaitsThatIsWhole) {
  TerminalText text;
  EXPECT_EQ(text.Take("50%\r"), "50%\r");
  EXPECT_EQ(text.Take("\x1b[1m"), "\x1b[1m");
  EXPECT_EQ(text.Take("\xe4\xb8\xad"), "\xe4\xb8\xad");
  EXPECT_EQ(text.Take("a\x1b[1"), "a");
  EXPECT_EQ(text.Take("x"), "\\x1b[1x");
  EXPECT_EQ(text.Take("\x1b"), "");
  EXPECT_EQ(text.End(), "\\x1b\x1b[0m");
  EXPECT_EQ(text.Take("next"), "next") << "another text";
}

}  // namespace
}  // namespace glim::cli
