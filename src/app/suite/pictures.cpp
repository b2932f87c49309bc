// SPDX-License-Identifier: Apache-2.0
#include "app/suite/pictures.hpp"

#include <utility>

#include "app/suite/folder.hpp"
#include "core/base/clock.hpp"
#include "core/base/guard.hpp"
#include "core/base/log.hpp"
#include "history/analyse/analysis.hpp"
#include "history/store/store.hpp"
#include "show/chart/files.hpp"
#include "show/dashboard/page.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

// An exception costs this step alone.
template <class Body>
auto attempted(const char* doing, const Body& body) {
  return with_context(guarded({}, body), doing);
}

}  // namespace

Pictures write_pictures(const Dataset& data, const fs::path& folder, const Cancelled& cancelled) {
  Pictures made;
  const Result<chart::WrittenCharts> charts = attempted(
      "while drawing the charts", [&] { return chart::write_charts(data, folder / kPlotsFolder, cancelled); });
  if (charts) {
    made.charts = charts->pictures;
    made.not_drawn = charts->not_drawn;
    made.notes = charts->notes;
  } else {
    made.failures.push_back(charts.error());
    if (charts.error().code == ErrorCode::kCancelled) return made;
  }
  Result<fs::path> page =
      attempted("while writing the dashboard", [&] { return dashboard::write_dashboard(data, analyse(data), folder); });
  if (page)
    made.page = std::move(*page);
  else
    made.failures.push_back(page.error());
  return made;
}

Status status_of(const Pictures& pictures) {
  if (pictures.failures.empty()) return {};
  for (std::size_t i = 1; i < pictures.failures.size(); ++i) log_warning("{}", pictures.failures[i].message);
  return tl::unexpected<Error>(pictures.failures.front());
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
