// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "history/store/dataset.hpp"
#include "show/chart/chart.hpp"

namespace assay::chart {

/// The charts without data, by what is missing.
class NotDrawn {
 public:
  /// `chart` has no option, and says in its notes what is missing.
  void add(const Chart& chart);
  /// "not drawn: history: each cell has one result: a further run …", one for each thing that is missing.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// Their names in one line, and the `command` that says what each lacks; empty if every chart has data.
  [[nodiscard]] std::string short_line(const std::string& command) const;

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> charts_of_reason_;
};

/// What write_charts() did.
struct WrittenCharts {
  std::size_t pictures = 0;        ///< SVG files
  NotDrawn not_drawn;              ///< the charts that the data do not allow
  std::vector<std::string> notes;  ///< why there are no PNG files; empty: there are
};

/// Writes every chart that the data allow into `folder`: NAME.svg and NAME.png, in light colours. Files of these names
/// that an earlier call left and that are not written again are removed. Errors: those of write_file_atomically and
/// Renderer::create; cancelled, after which the files that were written stay.
[[nodiscard]] Result<WrittenCharts> write_charts(const Dataset& data, const std::filesystem::path& folder,
                                                 const Cancelled& cancelled = {});

/// Likewise the chart `comparison` of two histories, such as those of two folders.
[[nodiscard]] Result<WrittenCharts> write_comparison(const Dataset& before, const Dataset& after,
                                                     const std::filesystem::path& folder,
                                                     const Cancelled& cancelled = {});

}  // namespace assay::chart
