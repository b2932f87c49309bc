// SPDX-License-Identifier: Apache-2.0
#include "suite/pictures.hpp"

#include <fmt/format.h>

#include <utility>

#include "analyse/analysis.hpp"
#include "base/clock.hpp"
#include "base/guard.hpp"
#include "chart/files.hpp"
#include "dashboard/page.hpp"
#include "store/store.hpp"
#include "suite/folder.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

std::string said(const char* what, const Error& error) {
  return fmt::format("{}: {}{}{}", what, error.message, error.hint.empty() ? "" : "; ", error.hint);
}

}  // namespace

Pictures write_pictures(const Dataset& data, const fs::path& folder) {
  Pictures made;
  const Result<chart::WrittenCharts> charts =
      guarded("while drawing the charts", [&] { return chart::write_charts(data, folder / kPlotsFolder); });
  if (charts) {
    made.charts = charts->pictures;
    made.notes = charts->notes;
  } else {
    made.notes.push_back(said("plots", charts.error()));
  }
  Result<fs::path> page =
      guarded("while writing the dashboard", [&] { return dashboard::write_dashboard(data, analyse(data), folder); });
  if (page)
    made.page = std::move(*page);
  else
    made.notes.push_back(said("index.html", page.error()));
  return made;
}

Dataset dataset_of_run(const fs::path& database, const std::string& run_id, const std::vector<Record>& rows) {
  const auto stored = [&]() -> Result<Dataset> {
    ASSAY_TRY(Store store, Store::open(database, Store::Mode::kRead));
    return read_dataset(store, {.runs = {run_id}});
  };
  std::error_code absent;
  if (!database.empty() && fs::exists(database, absent))
    if (Result<Dataset> data = guarded("while reading the results", stored); data && !data->cells.empty())
      return std::move(*data);
  Dataset data;
  data.source = "this run";
  data.made_at = iso8601(wall_now());
  data.cells = rows;
  data.ids.assign(rows.size(), 0);
  return data;
}

}  // namespace assay::suite
