// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "show/chart/chart.hpp"
#include "show/chart/picture.hpp"

/// Bars in groups, for several charts. Used within this module only.
namespace assay::chart {

inline constexpr double kBar = 18, kGroupGap = 12;  ///< heights of a bar, and of the gap between two groups

/// One panel of bars: what its rows show.
struct BarPanel {
  std::string title, axis;
  const char* scale = "auto";
  bool zero = true;
  std::vector<double> include{};
  Json arguments = Json::object();  ///< arguments of the function that draws bars
};

/// Panels side by side with the same groups, from the top. In a group each target that it has rows of has a place.
/// `rows` have the number of their panel. `hollow`: what that means in this chart.
[[nodiscard]] Chart bars(Frame frame, std::span<const BarPanel> panels, const std::vector<std::string>& groups,
                         std::vector<Row> rows, Table table, std::string summary,
                         std::string_view hollow = kHollowOfOneProcess);

}  // namespace assay::chart
