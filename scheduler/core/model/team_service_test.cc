#include "scheduler/core/model/team_service.h"

#include <gtest/gtest.h>

namespace glim::core {
namespace {

constexpr TimePoint kStart{1'000'000'800'000};  // the beginning of an hour
const ShareId kAnnsShare{"vision", "ann"};
const ShareId kBobsShare{"vision", "bob"};

TEST(TeamService, IsForgottenByHalfEveryDay) {
  TeamService service;
  service.Put(service.With(kAnnsShare, 8, kStart, kStart + Hours(10)));
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

TEST(TeamService, ATeamsIsTheSumOfItsUsers) {
  TeamService service;
  service.Put(service.With(kAnnsShare, 8, kStart, kStart + Minutes(90)));
  service.Put(service.With(kBobsShare, 16, kStart + Minutes(30), kStart + Hours(5)));
  service.Put(service.With({"speech", "ann"}, 64, kStart, kStart + Hours(5)));
  const TimePoint now = kStart + Hours(6);
  EXPECT_GT(service.Decayed(kAnnsShare, now), 0);
  EXPECT_EQ(service.Decayed("vision", now), service.Decayed(kAnnsShare, now) + service.Decayed(kBobsShare, now));
}

TEST(TeamService, AttemptsAddUpAsIfEachWereCountedAlone) {
  TeamService service;
  std::int64_t each = 0;
  const TimePoint now = kStart + Hours(60);
  for (int i = 0; i < 20; ++i) {
    const TimePoint begin = kStart + Hours(3 * i), end = begin + Minutes(100);
    service.Put(service.With(kAnnsShare, 8, begin, end));
    each += DecayedSpan(8, begin, end, now);
  }
  EXPECT_NEAR(static_cast<double>(service.Decayed(kAnnsShare, now)), static_cast<double>(each),
              static_cast<double>(each) / 1000);
}

TEST(TeamService, AClockThatWasSetBackChangesNothingOfWhatWas) {
  TeamService service;
  service.Put(service.With(kAnnsShare, 8, kStart, kStart + Hours(48)));
  const std::int64_t before = service.Decayed(kAnnsShare, kStart + Hours(48));
  service.Put(service.With(kAnnsShare, 8, kStart + Hours(1), kStart + Hours(2)));
  EXPECT_GT(service.Decayed(kAnnsShare, kStart + Hours(48)), before);
  EXPECT_LT(service.Decayed(kAnnsShare, kStart + Hours(48)), before + 8 * Hours(1).ms);
}

TEST(TeamService, ALiveSpanCountsLikeAnEndedOne) {
  TeamService service;
  const TimePoint now = kStart + Hours(3);
  service.Put(service.With(kAnnsShare, 8, kStart, now));
  EXPECT_EQ(DecayedSpan(8, kStart, now, now), service.Decayed("vision", now));
}

}  // namespace
}  // namespace glim::core
