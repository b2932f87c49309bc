// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measuring_options.hpp"
#include "app/cli/selection_options.hpp"
#include "core/base/clock.hpp"
#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analysis.hpp"
#include "history/analyse/table.hpp"
#include "history/exchange/dataset_of_files.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/files.hpp"
#include "show/chart/render.hpp"
#include "show/dashboard/chart_page.hpp"
#include "show/report/format.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kFormats{"svg", "png", "html", "json"};

struct PlotOptions {
  std::vector<std::string> json_paths, charts, formats{"svg", "png"};
  std::string output = "./plots", theme = "light", series, cell;
  int scale = 2;  ///< scale factor of a PNG; 2 is sharp on screens of high density
  bool architecture_comparison = false;
  SelectionOptions selection;
};

bool is_selected(const Record& row, const Selection& chosen) {
  const auto among = [](const std::vector<std::string>& words, const std::string& word) {
    return words.empty() || std::ranges::find(words, word) != words.end();
  };
  const auto equal = [](const std::optional<std::int64_t>& wanted, const Count& value) {
    return !wanted || wanted == value;
  };
  const bool at_time = (!chosen.since || row.timestamp >= iso8601(*chosen.since)) &&
                       (!chosen.until || row.timestamp <= iso8601(*chosen.until));
  return (among(chosen.models, row.model) || among(chosen.models, row.model_id)) &&
         among(chosen.families, row.family) && among(chosen.categories, row.category) &&
         among(chosen.architectures, row.architecture) && among(chosen.hardware, row.hardware) &&
         among(chosen.engines, row.engine) && among(chosen.precisions, row.precision) &&
         among(chosen.runs, row.run_id) && among(chosen.machines, row.hardware_id) &&
         equal(chosen.batch_size, row.batch_size) && equal(chosen.sequence_length, row.sequence_length) && at_time;
}

Result<Selected> read_files(const PlotOptions& options) {
  const std::vector<fs::path> paths(options.json_paths.begin(), options.json_paths.end());
  ASSAY_TRY(Selection chosen, options.selection.selection());
  ASSAY_TRY(std::vector<exchange::ResultsFile> files, exchange::read_all(paths));
  std::vector<const Record*> all;
  for (const exchange::ResultsFile& file : files)
    for (const exchange::ReadRow& row : file.rows) all.push_back(&row.record);
  const bool any = !all.empty();
  if (any) ASSAY_CHECK_OK(choose_words(all, join(options.json_paths, ", "), chosen));
  // As in the database: the newest result of what is selected, and what was before it is its history.
  Selection of_any_age = chosen;
  of_any_age.since.reset();
  for (exchange::ResultsFile& file : files) {
    std::erase_if(file.rows, [&](const exchange::ReadRow& row) { return !is_selected(row.record, of_any_age); });
  }
  Dataset data = exchange::dataset_of(files);
  std::erase_if(data.cells, [&](const Record& row) { return !is_selected(row, chosen); });
  data.ids.assign(data.cells.size(), 0);  // results of files have none
  data.source = join(options.json_paths, ", ");
  if (data.cells.size() > chosen.most_cells) {
    data.left_out = data.cells.size() - chosen.most_cells;
    data.cells.resize(chosen.most_cells);
    data.ids.resize(chosen.most_cells);
  }
  Selected selected{std::move(data), {}};
  if (selected.data.cells.empty())
    selected.none = any ? nothing_has_all(selected.data.source)
                        : Error{ErrorCode::kNotFound,
                                fmt::format("'{}' has no results", selected.data.source),
                                {},
                                "name a file or a folder that `assay run`, `suite` or `bench` wrote"};
  return selected;
}

Result<Selected> read_data(const PlotOptions& options) {
  if (!options.json_paths.empty() && !options.selection.db_path.empty())
    return fail(ErrorCode::kInvalidArgument, "--json-path and --db-path name two sources", "use one of them");
  return options.json_paths.empty() ? options.selection.read() : read_files(options);
}

std::vector<chart::Kind> chosen_kinds(const PlotOptions& options) {
  std::vector<chart::Kind> kinds;
  kinds.reserve(options.charts.size() + 1);
  for (const std::string& name : options.charts) kinds.push_back(chart::find_kind(name).value());
  if (options.architecture_comparison) kinds.push_back(chart::Kind::kArchitectureComparison);
  if (!kinds.empty()) return kinds;
  const std::span<const chart::Kind> all = chart::all_kinds();
  return {all.begin(), all.end()};
}

Result<std::string> bytes_of(const PlotOptions& options, const Dataset& data, chart::Renderer& renderer,
                             const chart::Chart& chart, const std::string& format) {
  if (format == "html") return dashboard::chart_page(renderer, std::span(&chart, 1), data);
  if (format == "json")
    return json_text({{"schema_version", kReportSchema}, {"chart", chart.name}, {"rows", rows_json(chart.table)}}, 2) +
           "\n";
  ASSAY_TRY(std::string svg, renderer.svg(chart, chart::theme(options.theme)));
  if (format == "svg") return svg;
  return chart::png(svg, options.scale);
}

// --output FILE.svg names the format and, of one chart, the file; further pages get "_2", "_3".
std::string format_of_output(const PlotOptions& options) {
  const std::string extension = fs::path(options.output).extension().string();
  for (const char* format : kFormats)
    if (extension == std::string(".") + format) return format;
  return "";
}

// A new name with an extension is meant as a file: a folder of that name would surprise.
Status check_output(const PlotOptions& options, std::size_t charts) {
  if (!format_of_output(options).empty()) {
    if (charts == 1) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--output '{}' is one file, but there are {} charts", options.output, charts),
                "name a folder, or one chart with --chart");
  }
  const std::string extension = fs::path(options.output).extension().string();
  std::error_code absent;
  if (extension.empty() || fs::is_directory(options.output, absent)) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("--output '{}': a chart is not written as {}", options.output, extension),
      "name a folder, or a file that ends in .svg, .png, .html or .json; a new folder with a dot in its name is "
      "named with a / at its end");
}

// Returns whether it could be drawn.
Result<bool> write_chart(const PlotOptions& options, const Dataset& data, chart::Renderer& renderer,
                         const chart::Chart& chart, std::size_t page) {
  const std::string single = format_of_output(options);
  const std::vector<std::string> formats = single.empty() ? options.formats : std::vector<std::string>{single};
  for (const std::string& format : formats) {
    fs::path file = fs::path(options.output) / (chart.name + "." + format);
    if (!single.empty()) {
      const fs::path whole = options.output;
      file = page == 0 ? whole
                       : whole.parent_path() /
                             fmt::format("{}_{}{}", whole.stem().string(), page + 1, whole.extension().string());
    }
    Result<std::string> bytes = bytes_of(options, data, renderer, chart, format);
    if (!bytes && bytes.error().code == ErrorCode::kNotFound &&
        formats.size() > 1) {  // no librsvg: the others are written
      std::fprintf(stderr, "note: %s\n", sanitise(to_string(bytes.error())).c_str());
      continue;
    }
    if (!bytes && (bytes.error().code == ErrorCode::kTimeout ||
                   bytes.error().code == ErrorCode::kOutOfMemory)) {  // the others are drawn
      std::fprintf(stderr, "%s\n", sanitise(to_string(bytes.error())).c_str());
      return false;
    }
    if (!bytes) return tl::unexpected(std::move(bytes).error());
    ASSAY_CHECK_OK(write_file_atomically(file, *bytes));
    std::printf("%s\n", file.c_str());
  }
  return true;
}

// A key that no result has: with it a chart would say that there are no data.
Status check_keys(const PlotOptions& options, const Dataset& data) {
  const auto has = [&](const std::string& key, const std::string Record::*member) {
    return key.empty() || std::ranges::any_of(data.cells, [&](const Record& row) { return row.*member == key; });
  };
  if (has(options.cell, &Record::task_key) && has(options.series, &Record::series_key)) return {};
  const bool cell = !has(options.cell, &Record::task_key);
  const char* column = cell ? "task_key" : "series_key";
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format("{}: no result has the key '{}'", cell ? "--cell" : "--series", cell ? options.cell : options.series),
      options.json_paths.empty()
          ? fmt::format(
                "`assay query{} --sql \"SELECT model, hardware, batch_size, {} FROM benchmark_results\"` lists the "
                "keys",
                database_option(database_path(options.selection.db_path)), column)
          : fmt::format("each result of the files has its key as {}", column));
}

Result<ExitCode> plot(const PlotOptions& options, const Context& context) {
  const NothingToKeep nothing_to_keep;
  const std::vector<chart::Kind> kinds = chosen_kinds(options);
  ASSAY_CHECK_OK(check_output(options, kinds.size()));
  ASSAY_TRY(const Selected selected, read_data(options));
  // From an empty database each chart says what it needs.
  const bool of_some = options.selection.select() || !options.cell.empty() || !options.series.empty();
  if (selected.none && of_some) return answer_none(*selected.none, context);
  const Dataset& data = selected.data;
  ASSAY_CHECK_OK(check_keys(options, data));
  const Analysis analysis = analyse(data);
  const chart::ChartMaker maker({.data = &data, .analysis = &analysis, .cell = options.cell, .series = options.series});
  ASSAY_TRY(chart::Renderer renderer, chart::Renderer::create({.cancelled = interrupted}));
  std::size_t drawn = 0, failed = 0;
  chart::NotDrawn missing;
  for (const chart::Kind kind : kinds) {
    std::size_t page = 0;
    for (const chart::Chart& chart : maker.make(kind)) {
      if (chart.option.is_null()) {
        missing.add(chart);
        continue;
      }
      ASSAY_TRY(const bool written, write_chart(options, data, renderer, chart, page++));
      ++(written ? drawn : failed);
    }
  }
  for (const std::string& line : missing.lines()) std::fprintf(stderr, "%s\n", sanitise(line).c_str());
  if (failed > 0) return ExitCode::kFailure;
  return drawn > 0 ? ExitCode::kSuccess : ExitCode::kCannotTell;
}

}  // namespace

void register_plot(CLI::App& app, Commands& commands) {
  auto options = std::make_shared<PlotOptions>();
  CLI::App* command = app.add_subcommand("plot", "Draw charts from the database or from files of results");
  command->group(kResultCommands);
  std::vector<std::string> names;
  for (const chart::Kind kind : chart::all_kinds()) names.emplace_back(chart::name_of(kind));
  show_as(command->add_option("--json-path", options->json_paths,
                              "Files of results, or folders of them, instead of the database"),
          kSelected, "FILE[,FILE…]")
      ->delimiter(',');
  only_words(show_as(command->add_option("--chart", options->charts, "Only these charts: " + join(names, ", ")),
                     kSelected, "NAME[,NAME…]")
                 ->delimiter(','),
             names);
  show_as(command->add_flag("--architecture-comparison", options->architecture_comparison,
                            "Only the chart architecture_comparison"),
          kSelected);
  show_as(
      command->add_option("--cell", options->cell, "The cell of latency_distribution, samples_over_time and phases"),
      kSelected, "TASK_KEY");
  show_as(command->add_option("--series", options->series, "The series of history"), kSelected, "SERIES_KEY");
  options->selection.add_to(*command);
  show_as(
      command->add_option("--output,--output-dir", options->output, "Folder for the files, or the file of one chart"),
      kOutput, "FOLDER|FILE")
      ->default_str(options->output);
  only_words(
      show_as(command->add_option("--format", options->formats,
                                  "Formats of the files: html is an interactive page with the table, json the table"),
              kOutput, "svg|png|html|json")
          ->delimiter(','),
      {kFormats.begin(), kFormats.end()})
      ->default_str("svg,png");
  only_words(show_as(command->add_option("--theme", options->theme, "Colours"), kOutput, "light|dark"),
             {"light", "dark"})
      ->default_str(options->theme);
  show_as(command->add_option("--scale", options->scale, "PNG: pixels for each pixel of the picture, 1 to 4")
              ->check(CLI::Range(1, 4).description("")),
          kOutput, "N")
      ->default_str("2");
  command->footer(
      "Examples:\n"
      "  assay plot --db-path benchmark_db.duckdb --model-id bert-base-uncased\n"
      "  assay plot --json-path benchmark_results/gpt2_cpu_float32.json --format svg\n"
      "  assay plot --architecture-comparison --theme dark");
  commands.add(command, [options](Context& context) { return plot(*options, context); });
}

}  // namespace assay::cli
