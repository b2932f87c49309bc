// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <assay/result.hpp>

#include "show/chart/chart.hpp"
#include "show/chart/render.hpp"

namespace assay {

struct Dataset;

namespace dashboard {

/// One self-contained HTML file with one chart, all its pages, with its notes and its table (docs/charts.md, "A chart
/// as a page"). Its script draws the chart as the dashboard does, from the same option; without JavaScript the file
/// shows static pictures, which it has in both themes. A content security policy allows this script and this style, and
/// nothing else. Of a chart without data: what it needs, without a script. `data` is what the chart was made from.
/// Size: 0.63 MB and about three times the SVG file of each of its pages. Errors: those of Renderer::svg.
[[nodiscard]] Result<std::string> chart_page(chart::Renderer& renderer, std::span<const chart::Chart> pages,
                                             const Dataset& data);

}  // namespace dashboard
}  // namespace assay
