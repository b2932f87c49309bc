// SPDX-License-Identifier: Apache-2.0
#include "suite/offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "analyse/analyse.hpp"
#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/guard.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "chart/files.hpp"
#include "exchange/dataset_of_files.hpp"
#include "report/report.hpp"
#include "store/store.hpp"
#include "suite/comparison.hpp"
#include "suite/folder.hpp"
#include "suite/pictures.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

std::vector<Record> rows_of(const std::vector<exchange::ResultsFile>& files) {
  std::vector<Record> rows;
  for (const exchange::ResultsFile& file : files)
    for (const exchange::ReadRow& row : file.rows) rows.push_back(row.record);
  return rows;
}

// The newest row of each task; rows of one attempt are in several files.
std::vector<Record> newest(std::vector<Record> rows) {
  std::ranges::stable_sort(rows, {}, &Record::timestamp);
  std::map<std::string, std::size_t> last;  // by task and names of the model
  const auto key = [](const Record& row) { return row.task_key + "\n" + row.model + "\n" + row.host; };
  for (std::size_t i = 0; i < rows.size(); ++i) last[key(rows[i])] = i;
  std::vector<Record> kept;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (last[key(rows[i])] == i) kept.push_back(std::move(rows[i]));
  return kept;
}

std::string counted(std::size_t n, const char* one) { return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s"); }

// The history has other models of these machines: the matrix keeps them.
Result<std::vector<Record>> with_history(std::vector<Record> rows, const fs::path& database) {
  std::error_code absent;
  if (rows.empty() || fs::file_size(database, absent) == 0 || absent) return rows;
  std::set<std::string> machines, attempts;
  for (const Record& row : rows) {
    machines.insert(row.hardware_id);
    attempts.insert(row.attempt_id);
  }
  const auto read = [&]() -> Result<std::vector<Record>> {
    ASSAY_TRY(Store store, Store::open(database, Store::Mode::kRead));
    std::vector<Record> history;
    for (const std::string& machine : machines) {
      ASSAY_TRY(const duckdb::Rows answer, store.ask("matrix_rows", {{"machine", machine}}));
      ASSAY_TRY(std::vector<Record> of_machine, answer.records());
      std::ranges::move(of_machine, std::back_inserter(history));
    }
    return history;
  };
  // Without it the matrix would lose every other model.
  ASSAY_TRY(const std::vector<Record> history, with_context(guarded({}, read), "while reading the history"));
  std::ranges::copy_if(history, std::back_inserter(rows),
                       [&](const Record& row) { return !attempts.contains(row.attempt_id); });
  return rows;
}

Status write_matrix(const fs::path& folder, const std::vector<Record>& rows, const std::string& host) {
  return write_file_atomically(folder / kMatrixFile,
                               json_text(compatibility_matrix(rows, host, iso8601(wall_now())), 2) + "\n");
}

// A new folder stays only with what it is made for.
Status complete_or_removed(const fs::path& folder, Status written) {
  std::error_code ignored;
  if (!written) fs::remove_all(folder, ignored);
  return written;
}

}  // namespace

Result<Written> plot_only(const fs::path& folder) {
  ASSAY_TRY(const Dataset data, exchange::dataset_of(std::array{folder}));
  const Pictures pictures = write_pictures(data, folder);
  ASSAY_CHECK_OK(status_of(pictures));
  Written written{{}, pictures.notes};
  if (pictures.charts > 0) written.files.push_back(folder / kPlotsFolder);
  if (pictures.page) written.files.push_back(*pictures.page);
  return written;
}

Result<Written> update_matrix_only(const fs::path& folder, const fs::path& database) {
  ASSAY_TRY(const std::vector<exchange::ResultsFile> files, exchange::read_all(std::array{folder}));
  ASSAY_TRY(const std::vector<Record> rows, with_history(rows_of(files), database));
  ASSAY_CHECK_OK(write_matrix(folder, rows, files.empty() ? "" : files.front().run.host));
  return Written{{folder / kMatrixFile}, {}};
}

Result<Written> aggregate(std::span<const fs::path> folders, const fs::path& output_dir, const std::string& command) {
  ASSAY_TRY(const std::vector<exchange::ResultsFile> files, exchange::read_all(folders));
  ReportInput input;
  std::set<std::string> runs, machines;
  for (const exchange::ResultsFile& file : files) {
    if (input.run.started < file.run.started) input.run = file.run;
    if (!file.run.run_id.empty()) runs.insert(file.run.run_id);
  }
  const std::vector<Record> all = rows_of(files);
  for (const Record& row : all) {
    runs.insert(row.run_id);
    machines.insert(row.hardware_id + row.host);
  }
  input.run.run_id = make_uuid();
  input.run.command = command;
  input.rows = newest(all);
  input.notes.push_back(
      fmt::format("aggregated from {} of {}: where several runs measured a cell, the newest is shown; "
                  "runs are not averaged",
                  counted(runs.size(), "run"), counted(machines.size(), "machine")));
  ASSAY_TRY(fs::path folder, make_folder(output_dir));
  const auto write = [&]() -> Status {
    ASSAY_CHECK_OK(write_results(folder, input));
    return write_matrix(folder, input.rows, input.run.host);
  };
  ASSAY_CHECK_OK(complete_or_removed(folder, write()));
  const Pictures pictures = write_pictures(exchange::dataset_of(files), folder);
  ASSAY_CHECK_OK(with_context(status_of(pictures),
                              fmt::format("while adding charts to {}, which has the results", shown_path(folder))));
  Written written{{folder}, input.notes};
  std::ranges::copy(pictures.notes, std::back_inserter(written.notes));
  return written;
}

Result<Written> plot_comparison(const fs::path& before, const fs::path& after, const fs::path& output_dir) {
  std::array<Side, 2> sides{Side{before.string(), {}}, Side{after.string(), {}}};
  for (Side& side : sides) {
    ASSAY_TRY(side.files, exchange::read_all(std::array{fs::path(side.name)}));
  }
  const Document document = compare_folders(sides[0], sides[1], iso8601(wall_now()));
  ASSAY_TRY(const fs::path folder, make_folder(output_dir, "comparison_"));
  Written written;
  Status drawn;
  std::vector<std::string> pictures{"\n## Charts\n\nEach side alone, from its own results:\n\n"};
  for (const auto& [side, name] : {std::pair(&sides[0], "before"), std::pair(&sides[1], "after")}) {
    const fs::path plots = fs::path(kPlotsFolder) / name;
    const Result<chart::WrittenCharts> charts =
        guarded({}, [&] { return chart::write_charts(exchange::dataset_of(side->files), folder / plots); });
    if (!charts) {
      if (drawn)
        drawn = with_context(Status(tl::unexpected<Error>(charts.error())),
                             fmt::format("while drawing the charts of {}", side->name));
      continue;
    }
    std::ranges::copy(charts->notes, std::back_inserter(written.notes));
    if (charts->pictures > 0)
      pictures.push_back(
          fmt::format("- [{}]({}): {}\n", side->name, plots.string(), counted(charts->pictures, "chart")));
  }
  const auto write = [&]() -> Status {
    const std::string text = to_markdown(document) + (pictures.size() > 1 ? join(pictures, "") : "");
    ASSAY_CHECK_OK(write_file_atomically(folder / "comparison.md", text));
    ASSAY_CHECK_OK(write_file_atomically(folder / "comparison.csv", to_csv(document)));
    return write_file_atomically(folder / "comparison.json", json_text(to_json(document), 2) + "\n");
  };
  ASSAY_CHECK_OK(complete_or_removed(folder, write()));
  ASSAY_CHECK_OK(with_context(std::move(drawn),
                              fmt::format("while adding charts to {}, which has the comparison", shown_path(folder))));
  written.files = {folder / "comparison.md", folder / "comparison.csv", folder / "comparison.json"};
  if (pictures.size() > 1) written.files.push_back(folder / kPlotsFolder);
  written.notes.insert(written.notes.begin(), document.answer);
  return written;
}

}  // namespace assay::suite
