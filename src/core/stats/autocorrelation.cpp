// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <map>
#include <mutex>
#include <numbers>
#include <numeric>
#include <utility>

#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

using Complex = std::complex<double>;

Complex times(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// What a transform of 2 n real numbers, as n complex ones, needs. Kept, because a history has many series of few
// lengths. `roots`: for each width 2, 4, … 2 n, one after the other, the first width / 2 roots of unity.
struct Plan {
  std::vector<Complex> roots;
  std::vector<std::pair<std::size_t, std::size_t>> swaps;  // places whose numbers have the same bits in reverse
};

const Plan& plan_for(std::size_t n) {
  static std::mutex mutex;
  static std::map<std::size_t, Plan> known;
  const std::lock_guard lock(mutex);
  Plan& plan = known[n];
  if (!plan.roots.empty()) return plan;
  std::vector<Complex> all(n);
  for (std::size_t i = 0; i < n; ++i)
    all[i] = std::polar(1.0, -std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
  for (std::size_t width = 2; width <= 2 * n; width *= 2)
    for (std::size_t k = 0; k < width / 2; ++k) plan.roots.push_back(all[k * (2 * n / width)]);
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) plan.swaps.emplace_back(i, j);
  }
  return plan;
}

// Fast Fourier transform in place; the size is a power of two. Two of its steps at once: a pass over the values costs
// more than the arithmetic.
void transform(std::vector<Complex>& values, const Plan& plan) {
  const std::size_t n = values.size();
  for (const auto& [i, j] : plan.swaps) std::swap(values[i], values[j]);
  std::size_t part = 1;  // transforms of so many values are done
  if (std::countr_zero(n) % 2 == 1) {
    for (std::size_t i = 0; i < n; i += 2) {
      const Complex other = values[i + 1];
      values[i + 1] = values[i] - other;
      values[i] += other;
    }
    part = 2;
  }
  for (; part < n; part *= 4) {
    const Complex* first_roots = plan.roots.data() + (part - 1);
    const Complex* second_roots = plan.roots.data() + (2 * part - 1);
    for (std::size_t start = 0; start < n; start += 4 * part) {
      Complex* quarter = values.data() + start;
      for (std::size_t k = 0; k < part; ++k, ++quarter) {
        const Complex left = times(first_roots[k], quarter[part]), right = times(first_roots[k], quarter[3 * part]);
        const Complex even = times(second_roots[k], quarter[2 * part] + right);
        const Complex turned = times(second_roots[k], quarter[2 * part] - right);
        const Complex odd{turned.imag(), -turned.real()};
        const Complex sum = quarter[0] + left, difference = quarter[0] - left;
        quarter[0] = sum + even;
        quarter[part] = difference + odd;
        quarter[2 * part] = sum - even;
        quarter[3 * part] = difference - odd;
      }
    }
  }
}

// Sums of products at the distances below `lags`, by Wiener and Khinchin: the transform of the power spectrum. With
// zeros behind, so that the products around the end are 0.
std::vector<double> all_sums(std::span<const double> series, std::size_t lags) {
  const std::size_t half = std::bit_ceil(series.size() + lags) / 2;
  const Plan& plan = plan_for(half);
  const Complex* roots = plan.roots.data() + (half - 1);
  // Even places are real parts, odd ones imaginary parts (Press and others, Numerical Recipes, "FFT of single real
  // function"); so are those of the result.
  std::vector<Complex> values(half);
  for (std::size_t i = 0; i < series.size(); ++i)
    (i % 2 == 0 ? values[i / 2].real(series[i]) : values[i / 2].imag(series[i]));
  transform(values, plan);
  for (std::size_t k = 0; k <= half / 2; ++k) {
    const std::size_t mirror = (half - k) % half;
    const Complex a = values[k], b = std::conj(values[mirror]);
    const Complex even = 0.5 * (a + b), odd = times(roots[k], Complex{0.5 * (a - b).imag(), -0.5 * (a - b).real()});
    const double low = std::norm(even + odd), high = std::norm(even - odd);  // of k, and of half a period on
    const double mean = 0.5 * (low + high);
    const Complex rest = times(roots[k], Complex{0.0, -0.5 * (low - high)});
    values[k] = mean + rest;
    if (mirror != k) values[mirror] = mean - std::conj(rest);
  }
  transform(values, plan);
  std::vector<double> sums(lags);
  for (std::size_t i = 0; i < lags; ++i)
    sums[i] = (i % 2 == 0 ? values[i / 2].real() : -values[i / 2].imag()) / static_cast<double>(half);
  return sums;
}

// Sums of products at a distance, of a series around its mean. Short lags, where most series end, are summed; the
// first long one transforms.
class Autocovariance {
 public:
  // The lags below `least` are needed in any case.
  Autocovariance(std::span<const double> series, std::size_t least)
      : centred_(series.begin(), series.end()), least_(std::min(least, series.size())) {
    const double centre = std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
    for (double& value : centred_) value -= centre;
  }

  double operator()(std::size_t lag) {
    constexpr std::size_t kSummed = 64, kShare = 4;
    if (lag < kSummed && least_ <= kSummed) {
      while (sums_.size() <= lag) sum_more();
      return sums_[lag];
    }
    const std::size_t n = centred_.size();
    if (all_.size() <= lag) all_ = all_sums(centred_, lag < n / kShare ? std::max(n / kShare, least_) : n);
    return all_[lag];
  }

 private:
  // The next distances in one pass: each of their sums waits for its own additions only.
  void sum_more() {
    constexpr std::size_t kAtOnce = 8;
    const std::size_t n = centred_.size(), first = sums_.size();
    const std::size_t common = n - std::min(n, first + kAtOnce - 1);
    std::array<double, kAtOnce> sums{};
    const double* values = centred_.data();
    for (std::size_t i = 0; i < common; ++i)
      for (std::size_t j = 0; j < kAtOnce; ++j) sums[j] += values[i + first + j] * values[i];
    for (std::size_t j = 0; j < kAtOnce; ++j)
      for (std::size_t i = common; i + first + j < n; ++i) sums[j] += values[i + first + j] * values[i];
    sums_.insert(sums_.end(), sums.begin(), sums.end());
  }

  std::vector<double> centred_, sums_, all_;
  std::size_t least_;
};

}  // namespace

CorrelationTime correlation_time(std::span<const double> series, std::size_t least_lags) {
  CorrelationTime result;
  if (series.size() < 4) return result;
  Autocovariance covariance(series, least_lags);
  const double variance = covariance(0);
  if (!(variance > 0.0)) return result;
  result.neighbours = covariance(1) / variance;
  double sum = 0.0;
  std::size_t lag = 0;
  for (; lag + 1 < series.size(); lag += 2) {
    const double pair = covariance(lag) + covariance(lag + 1);
    if (!(pair > 0.0)) break;
    sum += pair;
  }
  result.tau = std::max(1.0, 2.0 * sum / variance - 1.0);
  result.lags = std::max<std::size_t>(lag, 1);
  if (least_lags <= lag) return result;
  for (; lag < std::min(least_lags, series.size()); ++lag) sum += covariance(lag);
  result.tau = std::max(result.tau, 2.0 * sum / variance - 1.0);
  result.lags = lag;
  return result;
}

double autocorrelation_time(std::span<const double> series) { return correlation_time(series).tau; }

}  // namespace assay::stats
