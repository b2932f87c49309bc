// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/sinusoids.hpp"

#include <cmath>

namespace assay::zoo {

std::vector<float> halved_sinusoids(std::int64_t rows, std::int64_t width) {
  std::vector<float> table(static_cast<std::size_t>(rows * width));
  const std::int64_t sines = width - width / 2;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t pair = i / 2;
      const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(width);
      const double angle = static_cast<double>(row) / std::pow(10000.0, exponent);
      const std::int64_t column = i % 2 == 0 ? pair : sines + pair;
      table[static_cast<std::size_t>(row * width + column)] =
          static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

std::vector<float> fairseq_sinusoids(std::int64_t rows, std::int64_t width, std::int64_t padding, bool cosines_first) {
  const std::int64_t half = width / 2;
  const auto step = static_cast<float>(-std::log(10000.0) / static_cast<double>(half - 1));
  std::vector<float> table(static_cast<std::size_t>(rows * width), 0.0F);
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row == padding) continue;
    for (std::int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(row) * std::exp(static_cast<float>(i) * step);
      table[static_cast<std::size_t>(row * width + i)] = cosines_first ? std::cos(angle) : std::sin(angle);
      table[static_cast<std::size_t>(row * width + half + i)] = cosines_first ? std::sin(angle) : std::cos(angle);
    }
  }
  return table;
}

}  // namespace assay::zoo
