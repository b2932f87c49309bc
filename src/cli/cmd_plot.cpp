// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyse/analysis.hpp"
#include "analyse/table.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "chart/chart.hpp"
#include "chart/render.hpp"
#include "cli/context.hpp"
#include "cli/help.hpp"
#include "cli/selection_options.hpp"
#include "exchange/dataset_of_files.hpp"
#include "report/document.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr std::array kFormats{"svg", "png", "html", "json"};

struct PlotOptions {
  std::vector<std::string> json_paths, charts, formats{"svg", "png"};
  std::string output = "./plots", theme = "light", series, cell;
  int scale = 2;  ///< of a PNG: sharp on screens of high density
  bool architecture_comparison = false;
  SelectionOptions selection;
};

Result<Dataset> read_data(const PlotOptions& options) {
  if (options.json_paths.empty()) return options.selection.read();
  if (!options.selection.db_path.empty())
    return fail(ErrorCode::kInvalidArgument, "--json-path and --db-path name two sources", "use one of them");
  const std::vector<fs::path> paths(options.json_paths.begin(), options.json_paths.end());
  return exchange::dataset_of(paths);
}

std::vector<chart::Kind> chosen_kinds(const PlotOptions& options) {
  std::vector<chart::Kind> kinds;
  for (const std::string& name : options.charts) kinds.push_back(chart::find_kind(name).value());
  if (options.architecture_comparison) kinds.push_back(chart::Kind::kArchitectureComparison);
  if (!kinds.empty()) return kinds;
  const std::span<const chart::Kind> all = chart::all_kinds();
  return {all.begin(), all.end()};
}

// One static page: the picture in both themes, its notes and its table.
Result<std::string> html_page(chart::Renderer& renderer, const chart::Chart& chart) {
  ASSAY_TRY(std::string light, renderer.svg(chart, chart::theme("light")));
  ASSAY_TRY(std::string dark, renderer.svg(chart, chart::theme("dark")));
  const Picture picture{chart.name, chart.title, std::move(light), std::move(dark)};
  const Document document{.name = chart.name,
                          .title = chart.title,
                          .answer = chart.summary,
                          .sections = {{chart.subtitle, chart.notes, {}, {chart.table}, {chart.name}}}};
  return to_html(document, std::span(&picture, 1));
}

Result<std::string> bytes_of(const PlotOptions& options, chart::Renderer& renderer, const chart::Chart& chart,
                             const std::string& format) {
  if (format == "html") return html_page(renderer, chart);
  if (format == "json") return json_text(rows_json(chart.table), 2) + "\n";
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

Status write_chart(const PlotOptions& options, chart::Renderer& renderer, const chart::Chart& chart, std::size_t page) {
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
    Result<std::string> bytes = bytes_of(options, renderer, chart, format);
    if (!bytes && bytes.error().code == ErrorCode::kNotFound &&
        formats.size() > 1) {  // no librsvg: the others are written
      std::fprintf(stderr, "note: %s\n", sanitise(to_string(bytes.error())).c_str());
      continue;
    }
    if (!bytes) return tl::unexpected(std::move(bytes).error());
    ASSAY_CHECK_OK(write_file_atomically(file, *bytes));
    std::printf("%s\n", file.c_str());
  }
  return {};
}

Result<ExitCode> plot(const PlotOptions& options) {
  const std::vector<chart::Kind> kinds = chosen_kinds(options);
  if (!format_of_output(options).empty() && kinds.size() > 1)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--output '{}' is one file, but there are {} charts", options.output, kinds.size()),
                "name a folder, or one chart with --chart");
  ASSAY_TRY(const Dataset data, read_data(options));
  const Analysis analysis = analyse(data);
  const chart::Input input{.data = &data, .analysis = &analysis, .cell = options.cell, .series = options.series};
  ASSAY_TRY(chart::Renderer renderer, chart::Renderer::create());
  std::size_t drawn = 0;
  std::vector<std::string> missing;  // "NAME: why"
  for (const chart::Kind kind : kinds) {
    std::size_t page = 0;
    for (const chart::Chart& chart : chart::make_charts(kind, input)) {
      if (chart.option.is_null()) {
        missing.push_back(chart.name + ": " + join(chart.notes, "; "));
        continue;
      }
      ASSAY_CHECK_OK(write_chart(options, renderer, chart, page++));
      ++drawn;
    }
  }
  const bool chosen = !options.charts.empty() || options.architecture_comparison;
  if (drawn > 0 && !chosen && !missing.empty())
    std::fprintf(stderr,
                 "not drawn, because there are no data: %zu charts; `assay plot --chart NAME` says what each needs\n",
                 missing.size());
  else
    for (const std::string& why : missing) std::fprintf(stderr, "not drawn: %s\n", sanitise(why).c_str());
  return drawn > 0 ? ExitCode::kSuccess : ExitCode::kFailure;
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
  show_as(command->add_option("--cell", options->cell, "The cell of latency_distribution and samples_over_time"),
          kSelected, "TASK_KEY");
  show_as(command->add_option("--series", options->series, "The series of history"), kSelected, "SERIES_KEY");
  options->selection.add_to(*command);
  show_as(
      command->add_option("--output,--output-dir", options->output, "Folder for the files, or the file of one chart"),
      kOutput, "FOLDER|FILE")
      ->default_str(options->output);
  only_words(show_as(command->add_option(
                         "--format", options->formats,
                         "Formats of the files: html is a page with the picture and its table, json the table"),
                     kOutput, "svg|png|html|json")
                 ->delimiter(','),
             {kFormats.begin(), kFormats.end()})
      ->default_str("svg,png");
  only_words(show_as(command->add_option("--theme", options->theme, "Colours"), kOutput, "light|dark"),
             {"light", "dark"})
      ->default_str(options->theme);
  show_as(command->add_option("--scale", options->scale, "PNG: pixels for each pixel of the picture")
              ->check(CLI::Range(1, 4)),
          kOutput, "N")
      ->default_str("2");
  command->footer(
      "Examples:\n"
      "  assay plot --db-path benchmark_db.duckdb --model-id bert-base-uncased\n"
      "  assay plot --json-path benchmark_results/gpt2_cpu_float32.json --format svg\n"
      "  assay plot --architecture-comparison --theme dark");
  commands.add(command, [options](Context&) { return plot(*options); });
}

}  // namespace assay::cli
