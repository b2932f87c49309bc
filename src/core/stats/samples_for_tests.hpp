// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Random series with known properties, the same on every machine except for the last bit of libm.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace assay::stats {

class Source {
 public:
  explicit Source(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }

  /// A stationary series x_i = rho x_(i-1) + noise of variance 1, mean 0.
  std::vector<double> autoregressive(std::size_t n, double rho) {
    std::vector<double> series(n);
    double x = normal();
    for (double& value : series) value = x = rho * x + std::sqrt(1 - rho * rho) * normal();
    return series;
  }

 private:
  std::mt19937_64 engine_;
};

/// The warm-up corpus: typical shapes of latencies (infra.md, A.2).
enum class Shape { kIid, kMildlyCorrelated, kCorrelated, kWarmup, kStep, kDrift, kSlowdown, kBimodal };

inline std::vector<double> latencies(Source& source, Shape shape, std::size_t n) {
  const double rho = shape == Shape::kMildlyCorrelated ? 0.7 : shape == Shape::kCorrelated ? 0.9 : 0.2;
  std::vector<double> series = source.autoregressive(n, rho);
  bool second_mode = false;
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<double>(i);
    double y = 0.01 * series[i];
    if (source.uniform() < 0.01) y += 0.1 - 0.3 * std::log(source.uniform());  // interruptions
    if (shape == Shape::kWarmup) y += std::log1p(std::exp(-at / 10));
    if (shape == Shape::kStep && i < 60) y += 0.3;
    if (shape == Shape::kDrift) y += 0.05 * at / static_cast<double>(n);
    if (shape == Shape::kSlowdown && i >= n * 3 / 5) y += 0.1;
    if (shape == Shape::kBimodal) {
      if (source.uniform() < 0.02) second_mode = !second_mode;
      y += second_mode ? 0.08 : 0.0;
    }
    series[i] = 1e6 * std::exp(y);
  }
  return series;
}

}  // namespace assay::stats
