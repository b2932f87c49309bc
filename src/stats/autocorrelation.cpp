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

#include "stats/stats.hpp"

namespace assay::stats {
namespace {

using Complex = std::complex<double>;

// For a transform of n values: for each width 2, 4, … n, one after the other, the width / 2 roots of unity of its
// butterflies. Kept, because a history has many series of few lengths.
const std::vector<Complex>& roots_for(std::size_t n) {
  static std::mutex mutex;
  static std::map<std::size_t, std::vector<Complex>> known;
  const std::lock_guard lock(mutex);
  std::vector<Complex>& roots = known[n];
  if (!roots.empty() || n < 2) return roots;
  std::vector<Complex> all(n / 2);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
  for (std::size_t width = 2; width <= n; width *= 2)
    for (std::size_t k = 0; k < width / 2; ++k) roots.push_back(all[k * (n / width)]);
  return roots;
}

// Radix-2 fast Fourier transform in place; the size is a power of two.
void transform(std::vector<Complex>& values) {
  const std::size_t n = values.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  const Complex* roots = roots_for(n).data();
  for (std::size_t width = 2; width <= n; roots += width / 2, width *= 2) {
    for (std::size_t start = 0; start < n; start += width) {
      Complex* left = values.data() + start;
      Complex* right = left + width / 2;
      for (std::size_t k = 0; k < width / 2; ++k) {
        const Complex root = roots[k], other = right[k];
        const Complex lower{root.real() * other.real() - root.imag() * other.imag(),
                            root.real() * other.imag() + root.imag() * other.real()};
        right[k] = left[k] - lower;
        left[k] += lower;
      }
    }
  }
}

// Sums of products at a distance, of a series around its mean. Short lags, where most series end, are summed; the
// first long one transforms all (Wiener and Khinchin).
class Autocovariance {
 public:
  explicit Autocovariance(std::span<const double> series) : centred_(series.begin(), series.end()) {
    const double centre = std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
    for (double& value : centred_) value -= centre;
  }

  double operator()(std::size_t lag) {
    constexpr std::size_t kSummed = 64;
    if (lag < kSummed) {
      while (sums_.size() <= lag) sum_more();
      return sums_[lag];
    }
    if (all_.empty()) transform_all();
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

  void transform_all() {
    std::vector<Complex> values(std::bit_ceil(2 * centred_.size()));
    std::copy(centred_.begin(), centred_.end(), values.begin());
    transform(values);
    for (Complex& value : values) value = std::norm(value);
    transform(values);  // the spectrum is even and real: the transform is its own inverse except for the length
    all_.resize(centred_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = values[i].real() / static_cast<double>(values.size());
  }

  std::vector<double> centred_, sums_, all_;
};

}  // namespace

CorrelationTime correlation_time(std::span<const double> series, std::size_t least_lags) {
  CorrelationTime result;
  if (series.size() < 4) return result;
  Autocovariance covariance(series);
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
