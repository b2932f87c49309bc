// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

// What lgamma(z) is beyond (z - 1/2) ln z - z + ln(2 pi) / 2; small for large z, so that differences of large lgammas
// do not cancel. Series: DLMF 5.11.1.
double stirling_rest(double z) {
  if (z < 12.0) return std::lgamma(z) - ((z - 0.5) * std::log(z) - z + 0.5 * std::log(2 * std::numbers::pi));
  const double inverse = 1.0 / (z * z);
  return (1.0 / 12 - inverse * (1.0 / 360 - inverse * (1.0 / 1260 - inverse * (1.0 / 1680 - inverse / 1188)))) / z;
}

// x^a (1 - x)^b / B(a, b), by Loader's deviance formula ("Fast and accurate computation of binomial probabilities",
// 2000).
double beta_front(double a, double b, double x) {
  const double n = a + b;
  // a ln(a / nx) + b ln(b / n(1-x)): near the mean by the small distances from it, elsewhere directly.
  const double from_mean = n * x - a;
  const auto log_ratio = [](double ratio, double distance) {
    return std::abs(distance) < 0.5 ? std::log1p(distance) : std::log(ratio);
  };
  const double deviance = -a * log_ratio(n * x / a, from_mean / a) - b * log_ratio(n * (1 - x) / b, -from_mean / b);
  return std::sqrt(a * b / (2 * std::numbers::pi * n)) *
         std::exp(stirling_rest(n) - stirling_rest(a) - stirling_rest(b) - deviance);
}

// The continued fraction DLMF 8.17.22 by Lentz's method; converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1.0;
  double d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = d;
  for (double m = 1; m < 1e6; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1.0 / away_from_zero(1.0 + even * d);
    c = away_from_zero(1.0 + even / c);
    fraction *= c * d;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1.0 / away_from_zero(1.0 + odd * d);
    c = away_from_zero(1.0 + odd / c);
    fraction *= c * d;
    if (std::abs(c * d - 1.0) < 1e-15) break;
  }
  return fraction;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double front = beta_front(a, b, x);
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double binomial_cdf(std::int64_t k, std::int64_t n, double p) {
  if (k < 0) return 0.0;
  if (k >= n) return 1.0;
  return incomplete_beta(static_cast<double>(n - k), static_cast<double>(k) + 1.0, 1.0 - p);
}

double normal_quantile(double p) {
  if (p <= 0.0) return -std::numeric_limits<double>::infinity();
  if (p >= 1.0) return std::numeric_limits<double>::infinity();
  if (p > 0.5) return -normal_quantile(1.0 - p);
  // A start good to 5e-4 (Abramowitz and Stegun 26.2.23), then Halley's method on the exact lower tail.
  const double t = std::sqrt(-2.0 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 3; ++i) {
    const double error = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
    const double step = error * std::sqrt(2 * std::numbers::pi) * std::exp(0.5 * x * x);
    x -= step / (1.0 + 0.5 * x * step);
  }
  return x;
}

double student_quantile(double p, double degrees_of_freedom) {
  if (p <= 0.0) return -std::numeric_limits<double>::infinity();
  if (p >= 1.0) return std::numeric_limits<double>::infinity();
  if (p == 0.5) return 0.0;
  if (p < 0.5) return -student_quantile(1.0 - p, degrees_of_freedom);
  const double half = 0.5 * degrees_of_freedom;
  // Whether P(|T| <= t) is below the wanted probability, from the tail that is exact there.
  const auto below = [&](double t) {
    const double square = t * t;
    if (square < degrees_of_freedom)
      return incomplete_beta(0.5, half, square / (degrees_of_freedom + square)) < 2.0 * p - 1.0;
    return incomplete_beta(half, 0.5, degrees_of_freedom / (degrees_of_freedom + square)) > 2.0 * (1.0 - p);
  };
  double low = 0.0, high = 1.0;
  while (below(high) && high < 1e150) {
    low = high;
    high *= 2.0;
  }
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;  // neighbours
    (below(middle) ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace assay::stats
