// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "store/dataset.hpp"

namespace assay::chart {

/// What write_charts() did.
struct WrittenCharts {
  std::size_t pictures = 0;               ///< SVG files
  std::vector<std::string> without_data;  ///< names of charts
  std::vector<std::string> notes;         ///< why there are no PNG files; empty: there are
};

/// Writes every chart that the data allow into `folder`: NAME.svg and NAME.png, in light colours. Files of these names
/// that an earlier call left and that are not written again are removed. Errors: those of write_file_atomically and
/// Renderer::create.
[[nodiscard]] Result<WrittenCharts> write_charts(const Dataset& data, const std::filesystem::path& folder);

/// Likewise the chart `comparison` of two histories, such as those of two folders.
[[nodiscard]] Result<WrittenCharts> write_comparison(const Dataset& before, const Dataset& after,
                                                     const std::filesystem::path& folder);

}  // namespace assay::chart
