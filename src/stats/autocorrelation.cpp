// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <utility>

#include "stats/stats.hpp"

namespace assay::stats {
namespace {

using Complex = std::complex<double>;

// Radix-2 fast Fourier transform in place; the size is a power of two.
void transform(std::vector<Complex>& values) {
  const std::size_t n = values.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  std::vector<Complex> roots(n / 2);
  for (std::size_t i = 0; i < roots.size(); ++i)
    roots[i] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n));
  for (std::size_t width = 2; width <= n; width *= 2) {
    for (std::size_t start = 0; start < n; start += width) {
      for (std::size_t k = 0; k < width / 2; ++k) {
        const Complex upper = values[start + k];
        const Complex root = roots[k * (n / width)], other = values[start + k + width / 2];
        const Complex lower{root.real() * other.real() - root.imag() * other.imag(),
                            root.real() * other.imag() + root.imag() * other.real()};
        values[start + k] = upper + lower;
        values[start + k + width / 2] = upper - lower;
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
    if (lag < kSummed)
      return std::inner_product(centred_.begin() + static_cast<std::ptrdiff_t>(lag), centred_.end(), centred_.begin(),
                                0.0);
    if (all_.empty()) transform_all();
    return all_[lag];
  }

 private:
  void transform_all() {
    std::vector<Complex> values(std::bit_ceil(2 * centred_.size()));
    std::copy(centred_.begin(), centred_.end(), values.begin());
    transform(values);
    for (Complex& value : values) value = std::norm(value);
    transform(values);  // the spectrum is even and real: the transform is its own inverse except for the length
    all_.resize(centred_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i] = values[i].real() / static_cast<double>(values.size());
  }

  std::vector<double> centred_, all_;
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
