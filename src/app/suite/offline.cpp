// SPDX-License-Identifier: Apache-2.0
#include "app/suite/offline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "app/suite/collected.hpp"
#include "app/suite/comparison.hpp"
#include "app/suite/folder.hpp"
#include "app/suite/matrix_file.hpp"
#include "app/suite/pictures.hpp"
#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/guard.hpp"
#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analyse.hpp"
#include "history/exchange/dataset_of_files.hpp"
#include "history/store/store.hpp"
#include "show/chart/files.hpp"
#include "show/report/report.hpp"

namespace assay::suite {
namespace fs = std::filesystem;
namespace {

std::vector<Record> rows_of(const std::vector<exchange::ResultsFile>& files) {
  std::vector<Record> rows;
  for (const exchange::ResultsFile& file : files)
    for (const exchange::ReadRow& row : file.rows) rows.push_back(row.record);
  return rows;
}

// The history has other models of this machine: the matrix keeps them.
Result<std::vector<Record>> with_history(std::vector<Record> rows, const fs::path& database) {
  if (rows.empty() || is_empty_or_absent(database)) return rows;
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

// Returns what is kept of an earlier matrix, for a note.
Result<std::string> write_matrix(const fs::path& folder, const std::vector<Record>& rows, const RunInfo& run) {
  return write_matrix_file(folder / kMatrixFile, compatibility_matrix(rows, run, iso8601(wall_now())), rows);
}

// A new folder stays only with what it is made for.
Status complete_or_removed(const fs::path& folder, Status written) {
  std::error_code ignored;
  if (!written) fs::remove_all(folder, ignored);
  return written;
}

// A new folder with the results of one machine.
Result<Written> aggregate_machine(const std::vector<exchange::ResultsFile>& files, const fs::path& output_dir,
                                  const std::string& command, const Cancelled& cancelled) {
  ReportInput input;
  input.run = run_of(files);
  input.run.run_id = make_uuid();
  input.run.command = command;
  input.rows = cells_of(files);
  std::set<std::string> runs;
  for (const Record& row : rows_of(files)) runs.insert(row.run_id);
  input.notes.push_back(
      fmt::format("aggregated from {} of 1 machine, {}: where several runs measured a cell, the newest result is "
                  "shown; runs are not averaged",
                  counted(runs.size(), "run"), input.run.host.empty() ? "whose name is not known" : input.run.host));
  ASSAY_TRY(fs::path folder, make_folder(output_dir));
  const auto write = [&]() -> Status {
    ASSAY_CHECK_OK(write_results(folder, input));
    return write_matrix(folder, input.rows, input.run).map([](const std::string&) {});
  };
  ASSAY_CHECK_OK(complete_or_removed(folder, write()));
  const Pictures pictures = write_pictures(exchange::dataset_of(files), folder, cancelled);
  ASSAY_CHECK_OK(with_context(status_of(pictures),
                              fmt::format("while adding charts to {}, which has the results", shown_path(folder))));
  Written written{{folder}, input.notes};
  std::ranges::copy(pictures.notes, std::back_inserter(written.notes));
  std::ranges::copy(pictures.not_drawn.lines(), std::back_inserter(written.notes));
  return written;
}

}  // namespace

Result<Written> plot_only(const fs::path& folder, const Cancelled& cancelled) {
  ASSAY_TRY(const Dataset data, exchange::dataset_of(std::array{folder}));
  const Pictures pictures = write_pictures(data, folder, cancelled);
  ASSAY_CHECK_OK(status_of(pictures));
  Written written{{}, pictures.notes};
  std::ranges::copy(pictures.not_drawn.lines(), std::back_inserter(written.notes));
  if (pictures.charts > 0) written.files.push_back(folder / kPlotsFolder);
  if (pictures.page) written.files.push_back(*pictures.page);
  return written;
}

Result<Written> update_matrix_only(const fs::path& folder, const fs::path& database) {
  ASSAY_TRY(const std::vector<exchange::ResultsFile> files, exchange::read_all(std::array{folder}));
  const std::size_t machines = by_machine(files).size();
  if (machines > 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has results of {} machines, and a matrix is of one", shown_path(folder), machines),
                "--aggregate-results makes a folder of each machine");
  ASSAY_TRY(const std::vector<Record> rows, with_history(rows_of(files), database));
  ASSAY_TRY(std::string kept, write_matrix(folder, rows, run_of(files)));
  Written written{{folder / kMatrixFile}, {}};
  if (!kept.empty()) written.notes.push_back(std::move(kept));
  if (is_empty_or_absent(database))
    written.notes.push_back(
        fmt::format("there is no database {}: the matrix has the results of the folder alone", shown_path(database)));
  return written;
}

Result<Written> aggregate(std::span<const fs::path> folders, const fs::path& output_dir, const std::string& command,
                          const Cancelled& cancelled) {
  ASSAY_TRY(std::vector<exchange::ResultsFile> read, exchange::read_all(folders));
  const auto machines = by_machine(std::move(read));
  if (machines.empty()) return fail(ErrorCode::kNotFound, "these folders have no result");
  Written written;
  for (const std::vector<exchange::ResultsFile>& files : machines) {
    ASSAY_TRY(Written folder, aggregate_machine(files, output_dir, command, cancelled));
    for (std::string& note : folder.notes)
      written.notes.push_back(machines.size() == 1 ? note : folder.files.front().string() + ": " + note);
    std::ranges::move(folder.files, std::back_inserter(written.files));
  }
  if (machines.size() > 1)
    written.notes.push_back(
        fmt::format("the results are of {} machines: each has a folder of its own", machines.size()));
  return written;
}

Result<Written> plot_comparison(const fs::path& before, const fs::path& after, const fs::path& output_dir,
                                const Cancelled& cancelled) {
  std::array<Side, 2> sides{Side{before.string(), {}}, Side{after.string(), {}}};
  for (Side& side : sides) {
    ASSAY_TRY(side.files, exchange::read_all(std::array{fs::path(side.name)}));
  }
  const Document document = compare_folders(sides[0], sides[1], iso8601(wall_now()));
  ASSAY_TRY(const fs::path folder, make_folder(output_dir, "comparison_"));
  Written written;
  Status drawn;
  const Result<chart::WrittenCharts> together = guarded({}, [&] {
    return chart::write_comparison(exchange::dataset_of(sides[0].files), exchange::dataset_of(sides[1].files),
                                   folder / kPlotsFolder, cancelled);
  });
  if (together)
    written.notes = together->not_drawn.lines();
  else
    drawn = with_context(Status(tl::unexpected<Error>(together.error())), "while drawing the comparison");
  const bool has_both = together && together->pictures > 0;
  std::vector<std::string> pictures{fmt::format(
      "\n## Charts\n\n{}Each side alone, from its own results:\n\n",
      has_both ? fmt::format("![The times of both sides, cell by cell]({}/comparison.svg)\n\n", kPlotsFolder) : "")};
  for (const auto& [side, name] : {std::pair(&sides[0], "before"), std::pair(&sides[1], "after")}) {
    const fs::path plots = fs::path(kPlotsFolder) / name;
    const Result<chart::WrittenCharts> charts =
        guarded({}, [&] { return chart::write_charts(exchange::dataset_of(side->files), folder / plots, cancelled); });
    if (!charts) {
      if (drawn)
        drawn = with_context(Status(tl::unexpected<Error>(charts.error())),
                             fmt::format("while drawing the charts of {}", side->name));
      continue;
    }
    std::ranges::copy(charts->notes, std::back_inserter(written.notes));
    for (const std::string& line : charts->not_drawn.lines())
      written.notes.push_back(fmt::format("{}: {}", side->name, line));
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
