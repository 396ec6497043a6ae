#include "scheduler/server/nodes/attempt_rate.h"

#include <gtest/gtest.h>

namespace glim::server {
namespace {

int Taken(AttemptRate* rate, const std::string& who, TimePoint now, int times) {
  int taken = 0;
  for (int i = 0; i < times; ++i) taken += rate->Take(who, now) ? 1 : 0;
  return taken;
}

TEST(AttemptRate, EachIsBoundedAndTakesNothingOfTheOthers) {
  AttemptRate rate({3, 5, 1});
  const TimePoint start{1'000'000};
  EXPECT_EQ(Taken(&rate, "a", start, 100), 3);
  EXPECT_EQ(Taken(&rate, "b", start, 100), 2) << "five of all together: what `a` was refused is not among them";
  EXPECT_EQ(Taken(&rate, "c", start, 100), 0);
  EXPECT_EQ(Taken(&rate, "a", start + Seconds(1), 100), 1) << "one more a second";
  EXPECT_EQ(Taken(&rate, "a", start + Hours(1), 100), 3);
}

TEST(AttemptRate, WhoHasNotTriedForAWhileIsForgotten) {
  AttemptRate rate({10, 100'000, 100'000});
  TimePoint now{1'000'000};
  for (int i = 0; i < 5'000; ++i) EXPECT_TRUE(rate.Take(std::to_string(i), now));
  for (int i = 0; i < 5'000; ++i) EXPECT_TRUE(rate.Take("later-" + std::to_string(i), now + Minutes(1)));
  EXPECT_LE(rate.rows(), 9'000u);
}

}  // namespace
}  // namespace glim::server
