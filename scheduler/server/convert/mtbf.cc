#include "scheduler/server/convert/mtbf.h"

#include <cmath>
#include <limits>

namespace glim::server {
namespace {

constexpr double kTail = 0.025;  // on each side
constexpr double kThousandNodes = 1000;
constexpr int kTermsMax = 1'000'000;

// ln of x^a e^-x / Gamma(a). Not std::lgamma, which writes a variable that all threads share.
double LogFront(double a, double x) {
  int sign = 0;
  return a * std::log(x) - x - ::lgamma_r(a, &sign);
}

// The power series (DLMF 8.11.4): quick where x is small beside a.
double LowerBySeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kTermsMax && term > sum * std::numeric_limits<double>::epsilon(); ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * std::exp(LogFront(a, x));
}

// The continued fraction of the upper function (DLMF 8.9.2), from the front (Lentz's method): quick where x is large.
double UpperByFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / kTiny, d = 1 / b, value = d;
  for (int n = 1; n < kTermsMax; ++n) {
    const double part = -n * (n - a);
    b += 2;
    d = part * d + b;
    c = b + part / c;
    if (std::fabs(d) < kTiny) d = kTiny;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    value *= d * c;
    if (std::fabs(d * c - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return value * std::exp(LogFront(a, x));
}

// The mean at which P(a, mean) is `wanted`: it grows with the mean.
double MeanWhere(double a, double wanted) {
  double low = 0, high = a + 10 * std::sqrt(a) + 20;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (RegularisedGamma(a, middle) < wanted ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

}  // namespace

double RegularisedGamma(double a, double x) {
  if (x <= 0) return 0;
  return x < a + 1 ? LowerBySeries(a, x) : 1 - UpperByFraction(a, x);
}

PoissonBounds PoissonBoundsOf(std::uint64_t events) {
  const auto seen = static_cast<double>(events);
  PoissonBounds bounds;
  if (events > 0) bounds.low = MeanWhere(seen, kTail);
  bounds.high = MeanWhere(seen + 1, 1 - kTail);
  return bounds;
}

TimeBetween TimeBetweenFailures(std::uint64_t failures, double node_days) {
  if (node_days <= 0) return {};
  const PoissonBounds bounds = PoissonBoundsOf(failures);
  TimeBetween time;
  time.low = node_days / bounds.high;
  if (failures == 0) return time;
  time.mean = node_days / static_cast<double>(failures);
  time.high = node_days / bounds.low;
  return time;
}

FailureRate RateOfFailures(std::uint64_t failures, double node_days) {
  if (node_days <= 0) return {};
  const PoissonBounds bounds = PoissonBoundsOf(failures);
  const double of = kThousandNodes / node_days;
  return {bounds.low * of, static_cast<double>(failures) * of, bounds.high * of};
}

}  // namespace glim::server
