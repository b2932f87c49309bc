// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <assay/result.hpp>

#include "chart/chart.hpp"
#include "chart/render.hpp"

namespace assay::cli {

/// A static page with one chart, all its pages, in both themes, with its notes and its table; of a chart without data,
/// what it needs. `data` is what the chart was made from. Errors: those of Renderer::svg.
[[nodiscard]] Result<std::string> chart_page(chart::Renderer& renderer, std::span<const chart::Chart> pages,
                                             const Dataset& data);

}  // namespace assay::cli
