#include "scheduler/core/model/team_service.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

constexpr TimePoint kStart{1'000'000'000'000};

TEST(TeamService, IsForgottenByHalfEveryDay) {
  TeamService service;
  service.Count("vision", 8, kStart, kStart + Hours(10), true);
  const auto all = static_cast<double>(8 * Hours(10).ms);
  const TimePoint end = kStart + Hours(10);
  const auto now = static_cast<double>(service.Decayed("vision", end));
  EXPECT_GT(now, 0.8 * all);
  EXPECT_LT(now, all);
  EXPECT_NEAR(static_cast<double>(service.Decayed("vision", end + Hours(24))), now / 2, all / 1000);
  EXPECT_NEAR(static_cast<double>(service.Decayed("vision", end + Hours(72))), now / 8, all / 1000);
  EXPECT_EQ(service.Decayed("vision", end + Hours(24 * 30)), 0);
  EXPECT_EQ(service.Decayed("speech", end), 0);
}

TEST(TeamService, WhatIsTakenOutWasNeverIn) {
  TeamService service;
  service.Count("vision", 8, kStart, kStart + Minutes(90), true);
  service.Count("vision", 16, kStart + Minutes(30), kStart + Hours(5), true);
  service.Count("vision", 8, kStart, kStart + Minutes(90), false);
  TeamService other;
  other.Count("vision", 16, kStart + Minutes(30), kStart + Hours(5), true);
  EXPECT_EQ(service, other);
}

TEST(TeamService, ALiveSpanCountsLikeAnEndedOne) {
  TeamService service;
  service.Count("vision", 8, kStart, kStart + Hours(3), true);
  const TimePoint now = kStart + Hours(3);
  EXPECT_EQ(DecayedSpan(8, kStart, now, now), service.Decayed("vision", now));
}

}  // namespace
}  // namespace glim::core
