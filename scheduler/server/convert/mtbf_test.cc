#include "scheduler/server/convert/mtbf.h"

#include <gtest/gtest.h>

#include <cmath>

namespace glim::server {
namespace {

// By another way: the sum of the distribution's terms.
double AtMost(std::uint64_t events, double mean) {
  double term = std::exp(-mean), sum = term;
  for (std::uint64_t k = 1; k <= events; ++k) {
    term *= mean / static_cast<double>(k);
    sum += term;
  }
  return sum;
}

TEST(Mtbf, TheBoundsAreThoseOfTheTables) {
  // As printed in tables of exact Poisson limits at 95 %.
  const struct {
    std::uint64_t events;
    double low, high;
  } rows[] = {{0, 0, 3.6889}, {1, 0.0253, 5.5716}, {2, 0.2422, 7.2247}, {5, 1.6235, 11.6683}, {10, 4.7954, 18.3904}};
  for (const auto& row : rows) {
    const PoissonBounds bounds = PoissonBoundsOf(row.events);
    EXPECT_NEAR(bounds.low, row.low, 1e-4) << row.events;
    EXPECT_NEAR(bounds.high, row.high, 1e-4) << row.events;
  }
}

TEST(Mtbf, TheBoundsLeaveTwoAndAHalfOfAHundredOnEachSide) {
  for (const std::uint64_t events : {1u, 3u, 17u, 60u, 200u, 500u}) {
    const PoissonBounds bounds = PoissonBoundsOf(events);
    EXPECT_NEAR(1 - AtMost(events - 1, bounds.low), 0.025, 1e-9) << events;
    EXPECT_NEAR(AtMost(events, bounds.high), 0.025, 1e-9) << events;
  }
  const PoissonBounds many = PoissonBoundsOf(1'000'000);
  EXPECT_NEAR(many.low, 1'000'000 - 1960, 5) << "as the normal distribution has it";
  EXPECT_NEAR(many.high, 1'000'000 + 1960, 5);
}

TEST(Mtbf, OfNothingThatFailedTheTimeIsAtLeastSoLong) {
  const TimeBetween time = TimeBetweenFailures(0, 368.89);
  EXPECT_NEAR(time.low, 100, 0.01);
  EXPECT_EQ(time.mean, 0);
  EXPECT_EQ(time.high, 0);
  const FailureRate rate = RateOfFailures(0, 1000);
  EXPECT_EQ(rate.low, 0);
  EXPECT_EQ(rate.mean, 0);
  EXPECT_NEAR(rate.high, 3.6889, 1e-4);
}

TEST(Mtbf, RatesAndTimesAreEachOthersInverse) {
  const TimeBetween time = TimeBetweenFailures(10, 5000);
  const FailureRate rate = RateOfFailures(10, 5000);
  EXPECT_DOUBLE_EQ(time.mean, 500);
  EXPECT_DOUBLE_EQ(rate.mean, 2);
  EXPECT_NEAR(time.low * rate.high, 1000, 1e-9);
  EXPECT_NEAR(time.high * rate.low, 1000, 1e-9);
  EXPECT_EQ(TimeBetweenFailures(3, 0).low, 0) << "without a node nothing is known";
  EXPECT_EQ(RateOfFailures(3, 0).high, 0);
}

}  // namespace
}  // namespace glim::server
