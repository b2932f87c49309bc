// SPDX-License-Identifier: Apache-2.0
#include "app/cli/coverage_answers.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <utility>

#include "app/cli/failure.hpp"
#include "app/cli/help.hpp"
#include "app/cli/report_output.hpp"
#include "app/cli/report_question.hpp"
#include "app/cli/selection_options.hpp"
#include "core/base/files.hpp"
#include "core/base/json.hpp"
#include "history/analyse/analysis.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/render.hpp"
#include "show/dashboard/chart_page.hpp"
#include "show/dashboard/page.hpp"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kAnswers = "What to make of the stored results (measures nothing)";
constexpr const char* kDashboardFolder = "./dashboard";

fs::path page_of(const std::string& output, chart::Kind kind) {
  return output.empty() ? fs::path("charts") / fmt::format("{}.html", chart::name_of(kind)) : fs::path(output);
}

Status write_chart(const fs::path& file, chart::Kind kind, const Dataset& data, const Analysis& analysis) {
  ASSAY_TRY(chart::Renderer renderer, chart::Renderer::create({.cancelled = interrupted}));
  const std::vector<chart::Chart> pages = chart::make_charts(kind, {.data = &data, .analysis = &analysis});
  ASSAY_TRY(const std::string page, dashboard::chart_page(renderer, pages, data));
  return write_file_atomically(file, page);
}

}  // namespace

void CoverageAnswers::add_to(CLI::App& command) {
  show_as(command.add_flag("--comparative-report", comparative_, "How the hardware compares, over all models"),
          kAnswers);
  show_as(command.add_flag("--generate-optimization-report", optimization_,
                           "What to try, and by how much it would help, each with its number and its cell"),
          kAnswers);
  show_as(command.add_flag("--generate-dashboard", dashboard_,
                           fmt::format("The dashboard, in the folder --output, else {}", kDashboardFolder)),
          kAnswers);
  show_as(command.add_flag("--hardware-efficiency-chart", efficiency_,
                           "How much of its measured peak each hardware reaches, as a page"),
          kAnswers);
  show_as(command.add_flag("--memory-scaling-chart", memory_, "How memory grows with model and batch, as a page"),
          kAnswers);
  show_as(command.add_option("--output", output_,
                             "File for the answer; for the dashboard, a folder. Without it a report is printed, "
                             "and a chart is written into ./charts"),
          kAnswers, "PATH");
  only_words(
      show_as(command.add_option("--format", format_,
                                 "Format of a report. Default: the one that the extension of --output names, or text"),
              kAnswers, "text|md|csv|json|html"),
      {"text", "md", "markdown", "csv", "json", "html"});
  add_goal(command, goal_, kAnswers);
}

std::size_t CoverageAnswers::count() const {
  return static_cast<std::size_t>(comparative_) + static_cast<std::size_t>(optimization_) +
         static_cast<std::size_t>(dashboard_) + static_cast<std::size_t>(efficiency_) +
         static_cast<std::size_t>(memory_);
}

Status CoverageAnswers::check(bool json) const {
  const bool report = comparative_ || optimization_;
  if (!output_.empty() && count() != 1)
    return fail(ErrorCode::kInvalidArgument,
                count() == 0 ? "--output: nothing is asked that is written there"
                             : fmt::format("--output names the place of one answer, but {} are asked", count()),
                "use it with one of --comparative-report, --generate-optimization-report, --generate-dashboard, "
                "--hardware-efficiency-chart and --memory-scaling-chart");
  if (!format_.empty() && !report)
    return fail(ErrorCode::kInvalidArgument, "--format is that of a report",
                "use it with --comparative-report or --generate-optimization-report");
  const bool chart = efficiency_ || memory_;
  const std::string extension = fs::path(output_).extension().string();
  if (chart && !output_.empty() && extension != ".html" && extension != ".htm")
    return fail(ErrorCode::kInvalidArgument, fmt::format("--output '{}': the chart is a page, FILE.html", output_),
                "`assay plot` draws SVG and PNG");
  if (!report) return {};
  const bool prints_json = output_.empty() && (format_ == "json" || (json && format_.empty()));
  if (comparative_ && optimization_ && prints_json)
    return fail(ErrorCode::kInvalidArgument, "two reports as JSON are two documents, and one is printed",
                "choose one report at a time");
  const ReportOutput output{format_, output_};
  return with_context(output.chosen_format().map([](const std::string&) {}), "while reading --output");
}

std::vector<std::string> CoverageAnswers::places() const {
  std::vector<std::string> all;
  if (comparative_ || optimization_) all.push_back(output_.empty() ? "standard output" : output_);
  if (dashboard_) all.push_back((fs::path(output_.empty() ? kDashboardFolder : output_) / "index.html").string());
  if (efficiency_) all.push_back(page_of(output_, chart::Kind::kHardwareEfficiency).string());
  if (memory_) all.push_back(page_of(output_, chart::Kind::kMemoryScaling).string());
  return all;
}

Result<ExitCode> CoverageAnswers::write(const fs::path& database, const Selection& selection,
                                        const Context& context) const {
  const NothingToKeep nothing_to_keep;
  ASSAY_TRY(const Selected selected, read_selected(database, selection));
  if (selected.none) return answer_none(*selected.none, context);
  const Dataset& data = selected.data;
  const Analysis analysis = analyse(data, goal_from(goal_).value_or(Goal::kLatency));
  const bool prints = output_.empty() && (comparative_ || optimization_);
  ReportOutput output{format_, output_};
  if (context.json && prints && format_.empty()) output.format = "json";
  for (const auto& [asked, name] : {std::pair(comparative_, "comparative"), std::pair(optimization_, "optimization")}) {
    if (!asked) continue;
    ASSAY_TRY(const Document document, make_report(name, data, analysis));
    ASSAY_CHECK_OK(output.write(document, data, analysis));
  }
  Json files = Json::array();
  if (dashboard_) {
    const fs::path folder = output_.empty() ? kDashboardFolder : output_;
    ASSAY_TRY(const fs::path page, dashboard::write_dashboard(data, analysis, folder));
    files.push_back(page.string());
  }
  for (const auto& [asked, kind] :
       {std::pair(efficiency_, chart::Kind::kHardwareEfficiency), std::pair(memory_, chart::Kind::kMemoryScaling)}) {
    if (!asked) continue;
    const fs::path file = page_of(output_, kind);
    ASSAY_CHECK_OK(write_chart(file, kind, data, analysis));
    files.push_back(file.string());
  }
  if (context.json && !prints) {
    print_document({{"written", std::move(files)}});
    return ExitCode::kSuccess;
  }
  // Where a report goes to standard output, the names of files go to the other one.
  std::FILE* stream = prints ? stderr : stdout;
  for (const Json& file : files) std::fprintf(stream, "%s\n", file.get<std::string>().c_str());
  return ExitCode::kSuccess;
}

}  // namespace assay::cli
