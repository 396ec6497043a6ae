// Two sides of several versions speak the newest that both know.
#include "sdk/base/version_range.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(VersionRange, TheNewestThatBothKnow) {
  EXPECT_EQ(CommonVersion({1, 1}, {1, 1}), 1u);
  EXPECT_EQ(CommonVersion({1, 3}, {2, 5}), 3u);
  EXPECT_EQ(CommonVersion({2, 5}, {1, 3}), 3u);
  EXPECT_EQ(CommonVersion({1, 9}, {4, 4}), 4u);
  EXPECT_EQ(CommonVersion({1, 2}, {3, 4}), std::nullopt);
  EXPECT_EQ(CommonVersion({3, 4}, {1, 2}), std::nullopt);
  EXPECT_EQ(CommonVersion({5, 1}, {1, 9}), std::nullopt) << "no range";
}

TEST(VersionRange, InWords) {
  EXPECT_EQ(ToString(VersionRange{2, 2}), "version 2");
  EXPECT_EQ(ToString(VersionRange{2, 5}), "versions 2 to 5");
}

}  // namespace
}  // namespace glim
