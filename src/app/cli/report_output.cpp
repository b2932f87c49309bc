// SPDX-License-Identifier: Apache-2.0
#include "app/cli/report_output.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "app/cli/context.hpp"
#include "app/cli/help.hpp"
#include "app/cli/measure_command.hpp"
#include "app/cli/measuring_options.hpp"
#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "core/base/unknown_word.hpp"
#include "history/analyse/analysis.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/render.hpp"
#include "show/report/format.hpp"
#include "show/report/terminal.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

// The charts that the sections name, in both themes. Those without data are left out.
Result<std::vector<Picture>> draw(const Document& document, const Dataset& data, const Analysis& analysis) {
  std::vector<Picture> pictures;
  const chart::ChartMaker maker({.data = &data, .analysis = &analysis});
  ASSAY_TRY(chart::Renderer renderer, chart::Renderer::create({.cancelled = interrupted}));
  for (const Section& section : document.sections) {
    for (const std::string& name : section.charts) {
      const auto kind = chart::find_kind(name);
      ASSAY_CHECK(kind, "a report names charts that there are");
      for (const chart::Chart& each : maker.make(*kind)) {
        if (each.option.is_null()) continue;
        ASSAY_TRY(std::string light, renderer.svg(each, chart::theme("light")));
        ASSAY_TRY(std::string dark, renderer.svg(each, chart::theme("dark")));
        pictures.push_back({name, each.title, std::move(light), std::move(dark)});
      }
    }
  }
  return pictures;
}

// Writes the pictures into the folder `report`_charts and returns their paths relative to the report.
Result<std::vector<std::pair<std::string, std::string>>> write_files(const fs::path& report,
                                                                     const std::vector<Picture>& pictures) {
  std::vector<std::pair<std::string, std::string>> files;
  const fs::path folder = report.stem().string() + "_charts";
  for (const Picture& picture : pictures) {
    const auto pages =
        static_cast<std::size_t>(std::ranges::count(files, picture.name, [](const auto& file) { return file.first; }));
    const fs::path file = folder / (picture.name + (pages == 0 ? "" : "_" + std::to_string(pages + 1)) + ".svg");
    ASSAY_CHECK_OK(write_file_atomically(report.parent_path() / file, picture.light));
    files.emplace_back(picture.name, file.string());
  }
  return files;
}

// What a double cannot hold exactly stays text.
TableValue value_of_cell(const Json& cell) {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (cell.is_null()) return {};
  if (cell.is_string()) return cell.get<std::string>();
  const bool exact = cell.is_number_integer() && cell <= kExact && cell >= -kExact;
  return cell.is_number_float() || exact ? TableValue(cell.get<double>()) : TableValue(json_text(cell));
}

Table table_of(const duckdb::Rows& rows) {
  Table table;
  constexpr int kAllDigits = 15;
  for (const std::string& name : rows.columns) table.columns.push_back({name, name, "", Better::kNeither, kAllDigits});
  for (const std::vector<Json>& row : rows.rows) {
    std::vector<TableValue>& values = table.rows.emplace_back();
    for (const Json& cell : row) values.push_back(value_of_cell(cell));
  }
  return table;
}

}  // namespace

void ReportOutput::add_to(CLI::App& command) {
  only_words(show_as(command.add_option(
                         "--format", format,
                         "Format of the answer. Default: the one that the extension of --output names, or text"),
                     kOutput, "text|md|csv|json|html"),
             {"text", "md", "markdown", "csv", "json", "html"});
  show_as(command.add_option("--output", path, "File for the answer"), kOutput, "FILE")->default_str("standard output");
  add_output_format(command, output_format);
}

Result<std::string> ReportOutput::chosen_format() const {
  if (format == "markdown") return std::string("md");
  if (format.empty() && output_format == "json") return output_format;
  if (!format.empty() || path.empty()) return format.empty() ? std::string("text") : format;
  const std::string extension = fs::path(path).extension().string();
  const std::pair<std::string_view, const char*> known[] = {{".txt", "text"},  {".md", "md"},     {".csv", "csv"},
                                                            {".json", "json"}, {".html", "html"}, {".htm", "html"}};
  for (const auto& [end, name] : known)
    if (extension == end) return std::string(name);
  return fail(ErrorCode::kInvalidArgument, fmt::format("--output '{}': its extension is none of a format", path),
              "use .txt, .md, .csv, .json or .html, or name the --format");
}

Status ReportOutput::put(const std::string& content) const {
  if (!path.empty()) {
    ASSAY_CHECK_OK(write_file_atomically(path, content));
    std::fprintf(stderr, "%s\n", path.c_str());
    return {};
  }
  std::fwrite(content.data(), 1, content.size(), stdout);
  return {};
}

Status ReportOutput::write(const Document& document, const Dataset& data, const Analysis& analysis) const {
  ASSAY_TRY(const std::string chosen, chosen_format());
  if (chosen == "csv") return put(to_csv(document));
  if (chosen == "json") return put(json_text(to_json(document), 2) + "\n");
  if (chosen == "text") return put(to_text(document, path.empty() && isatty(STDOUT_FILENO) == 1, output_width()));
  if (chosen == "md" && path.empty()) return put(to_markdown(document));
  Result<std::vector<Picture>> pictures = draw(document, data, analysis);
  if (!pictures && pictures.error().code == ErrorCode::kCancelled) return tl::unexpected(pictures.error());
  if (!pictures) {
    std::fprintf(stderr, "note: without charts: %s\n", sanitise(pictures.error().message).c_str());
    pictures = std::vector<Picture>();
  }
  if (chosen == "html") return put(to_html(document, *pictures));
  ASSAY_TRY(const auto files, write_files(path, *pictures));
  return put(to_markdown(document, files));
}

Status ReportOutput::write(const duckdb::Rows& rows, const std::string& title) const {
  ASSAY_TRY(const std::string chosen, chosen_format());
  if (chosen == "json") {
    Json objects = Json::array();
    for (const std::vector<Json>& row : rows.rows) {
      Json object = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) object[rows.columns[i]] = row[i];
      objects.push_back(std::move(object));
    }
    const Json document = {{"schema_version", kReportSchema}, {"columns", rows.columns}, {"rows", std::move(objects)}};
    return put(json_text(document, 2) + "\n");
  }
  const Table table = table_of(rows);
  if (chosen == "csv") return put(to_csv(table));
  if (chosen == "text") {
    // What reads a pipe or a file needs all columns; a screen, those that fit.
    const bool screen = path.empty() && isatty(STDOUT_FILENO) == 1;
    constexpr int kEverything = 1 << 20;
    return put(to_text(table, screen, screen ? output_width() : kEverything));
  }
  const Document document{.name = "query",
                          .title = title,
                          .answer = fmt::format("{} rows.", table.rows.size()),
                          .sections = {{"Rows", {}, {}, {table}, {}}}};
  return put(chosen == "html" ? to_html(document) : to_markdown(document));
}

}  // namespace assay::cli
