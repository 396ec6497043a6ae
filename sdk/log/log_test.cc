#include "sdk/log/log.h"

#include <gtest/gtest.h>

namespace glim {
namespace {

TEST(LogLevel, IsOneOfTheWords) {
  for (const char* level : {"trace", "debug", "info", "warn", "warning", "error", "critical", "off"}) {
    EXPECT_TRUE(CheckLogLevel(level).ok()) << level;
  }
  for (const char* nonsense : {"loud", "", "INFO", "off "}) EXPECT_FALSE(CheckLogLevel(nonsense).ok()) << nonsense;
}

// A word that is none must not silence whoever writes it.
TEST(LogLevel, AnUnknownOneStandsForInfo) {
  StartLog("%v", "loud");
  ::testing::internal::CaptureStderr();
  LogInfo("heard");
  LogDebug("not heard");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "heard\n");
}

}  // namespace
}  // namespace glim
