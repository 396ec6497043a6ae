// How often something fails, and how sure that is: a rate and its bounds from a number of failures within an exposure.
// Pure.
//
// Failures are taken for a Poisson process. The bounds are Garwood's exact ones (F. Garwood, "Fiducial limits for the
// Poisson distribution", Biometrika 28, 1936): quantiles of the chi-square distribution with 2k and 2k + 2 degrees of
// freedom, halved. They hold for no failure at all, too: then the time between two is at least so long, and no more is
// known.
#pragma once

#include <cstdint>

namespace glim::server {

// Of an expected number of events of which `events` were seen: the truth lies between the bounds in at least 95 of a
// hundred such looks.
struct PoissonBounds {
  double low = 0;
  double high = 0;
};
PoissonBounds PoissonBoundsOf(std::uint64_t events);

// P(a, x), the regularised lower incomplete gamma function (DLMF 8.2.4), for a > 0 and x >= 0: the probability that a
// Poisson variable of mean x is at least a, for a whole number a.
double RegularisedGamma(double a, double x);

// In days of one node. `mean` and `high` are 0 where they are not known: nothing has failed.
struct TimeBetween {
  double low = 0;
  double mean = 0;
  double high = 0;
};
TimeBetween TimeBetweenFailures(std::uint64_t failures, double node_days);

// Of a thousand nodes in a day.
struct FailureRate {
  double low = 0;
  double mean = 0;
  double high = 0;
};
// All 0 without an exposure.
FailureRate RateOfFailures(std::uint64_t failures, double node_days);

}  // namespace glim::server
