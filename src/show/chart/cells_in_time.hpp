// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/picture.hpp"

/// What the charts of single cells share: distribution, samples over time, history. Used within this module only.
namespace assay::chart {

/// Orders cells: of each model on each target the smallest first, these by model and target.
/// Lifetime: of `cells`.
class CellOrder {
 public:
  using Place = std::tuple<std::ptrdiff_t, std::string, std::ptrdiff_t, std::pair<std::int64_t, std::int64_t>>;
  explicit CellOrder(std::span<const Record> cells) : cells_(cells), looks_(looks_of(cells)) {}
  [[nodiscard]] Place place_of(const Record& cell) const;

 private:
  std::span<const Record> cells_;
  std::vector<Look> looks_;
};

struct CellDistributions {
  const Record* cell = nullptr;
  std::vector<const SampleDistribution*> distributions;  ///< distributions of whole runs, sorted by launch
};
/// The cells of one machine that have distributions and whose numbers are not wrong, in their order; only the chosen
/// one if the input names one.
[[nodiscard]] std::vector<CellDistributions> cells_with_distributions(const Source& source);

/// A time of a distribution in ms.
[[nodiscard]] double time_of(std::uint16_t code, const SampleDistribution& distribution);

/// "bert on cpu, batch 1, 128 tokens".
[[nodiscard]] std::string cell_words(const Record& cell);
/// The look of its target.
[[nodiscard]] Look look_of(const Record& cell);

}  // namespace assay::chart
