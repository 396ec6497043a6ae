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
  EXPECT_EQ(Escaped("\xe8\xae\xad\xe7\xbb\x83 ok"), "\xe8\xae\xad\xe7\xbb\x83 ok");
}

TEST(EscapedStart, CutsBetweenCharacters) {
  EXPECT_EQ(EscapedStart("a\nb", 3), "a\\nb");
  EXPECT_EQ(EscapedStart("\xe8\xae\xad\xe7\xbb\x83 ok", 1), "\xe8\xae\xad...");
}

}  // namespace
}  // namespace glim
