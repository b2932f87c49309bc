// SPDX-License-Identifier: Apache-2.0
#include "models/lower/spectra.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

namespace assay::lowering {
namespace {

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10.0, mel / 2595) - 1); }

}  // namespace

std::vector<double> cosine_window(const StaticProgram& program, const graph::Node& node, const CosineWindow& window) {
  const std::int64_t size = program.shape(node.outputs[0]).front();
  const auto period = static_cast<double>(node.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / period;
    numbers.push_back(window.c0 - window.c1 * std::cos(angle) + window.c2 * std::cos(2 * angle));
  }
  return numbers;
}

Result<std::vector<double>> mel_weights(const StaticProgram& program, const graph::Node& node) {
  std::array<double, 5> given{};  // bands, length of the transform, sample rate, lowest and highest frequency
  for (std::size_t i = 0; i < given.size(); ++i) {
    const auto number = has_input(node, i) ? program.number(node.inputs[i]) : std::nullopt;
    if (!number) return refuse(node, fmt::format("input {}, which is not a constant of one number,", i));
    given[i] = *number;
  }
  const Shape& made = program.shape(node.outputs[0]);
  const std::int64_t bins = made[0], bands = made[1];
  const double lowest = mel_of(given[3]), step = (mel_of(given[4]) - lowest) / static_cast<double>(bands + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double bin = std::floor((given[1] + 1) * hertz_of(lowest + static_cast<double>(i) * step) / given[2]);
    // The middle of a band is a bin; its end is one, or the first beyond the last.
    const std::int64_t most = i == bands + 1 ? bins : bins - 1;
    if (!(bin >= 0 && bin <= static_cast<double>(most)))
      return refuse(node, fmt::format("the edge {} of a band, beyond a spectrum of {} bins,", bin, bins));
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  std::vector<double> matrix(static_cast<std::size_t>(bins * bands), 0);
  for (std::int64_t band = 0; band < bands; ++band) {
    const auto at = [&](std::int64_t bin) -> double& { return matrix[static_cast<std::size_t>(bin * bands + band)]; };
    const std::int64_t* edge = &edges[static_cast<std::size_t>(band)];
    if (edge[0] == edge[1]) at(edge[1]) = 1;
    for (std::int64_t bin = edge[0]; edge[0] < edge[1] && bin <= edge[1]; ++bin)
      at(bin) = static_cast<double>(bin - edge[0]) / static_cast<double>(edge[1] - edge[0]);
    for (std::int64_t bin = edge[1]; bin < edge[2]; ++bin)
      at(bin) = static_cast<double>(edge[2] - bin) / static_cast<double>(edge[2] - edge[1]);
  }
  return matrix;
}

}  // namespace assay::lowering
