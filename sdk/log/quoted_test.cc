#include "sdk/log/quoted.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(Quoted, ALogLineStaysOneLine) { EXPECT_EQ(Quoted("a \"b\"\nc\\"), R"("a \"b\" c\\")"); }

TEST(Quoted, ALongValueIsCutAtACharacter) {
  std::string text = "x";
  while (text.size() < 3000) text += "\xc3\xa4";
  const std::string quoted = Quoted(text);
  EXPECT_LE(quoted.size(), 1002u);
  EXPECT_EQ(quoted.substr(quoted.size() - 3), "\xc3\xa4\"");
}

}  // namespace
}  // namespace glim
