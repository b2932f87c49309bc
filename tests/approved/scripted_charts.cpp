// SPDX-License-Identifier: Apache-2.0

// scripted_charts NAME.DATA[.dark].svg: prints a chart of invented results, for comparison with the approved file of
// the same name in charts/ (tests/approve.py). NAME: as of a file of `assay plot`, that of a second page ends with _2.
// DATA: one (a single cell), normal, thirty (models), unranked (times that nothing is claimed of), two_runs (normal,
// and an older run for the comparison), long (names, and versions that changed with the last runs), empty.
// scripted_charts pages.txt: prints which charts have several pages, and how many.
// scripted_charts --check THEME: says where text is cut or overlaps in any page of any chart.
// scripted_charts --all FOLDER: writes every chart of every DATA there as SVG and PNG, and says what is wrong with
// their text.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "chart_data.hpp"
#include "core/base/files.hpp"
#include "show/chart/chart.hpp"
#include "show/chart/layout.hpp"
#include "show/chart/render.hpp"

namespace assay {
namespace {

constexpr std::array<std::string_view, 7> kData{"one", "normal", "thirty", "unranked", "two_runs", "long", "empty"};

// The chart that a second page belongs to: "memory_usage" of "memory_usage_2".
std::string_view without_page(std::string_view name) {
  const std::size_t line = name.find_last_not_of("0123456789");
  return line != std::string_view::npos && line + 1 < name.size() && name[line] == '_' ? name.substr(0, line) : name;
}

int print_one(std::string name) {
  if (name.ends_with(".svg")) name.resize(name.size() - 4);
  const bool dark = name.ends_with(".dark");
  if (dark) name.resize(name.size() - 5);
  const std::size_t dot = name.find('.');
  const std::string of_chart = name.substr(0, dot);
  const std::optional<chart::Kind> kind = chart::find_kind(without_page(of_chart));
  const std::optional<Dataset> data = dot == std::string::npos ? std::nullopt : dataset_of(name.substr(dot + 1));
  if (!kind || !data) {
    std::fputs(
        "usage: scripted_charts NAME.one|normal|thirty|unranked[.dark].svg | without_data.txt | pages.txt | --check "
        "light|dark | --all FOLDER\n",
        stderr);
    return 2;
  }
  const Analysis analysis = analysis_of(*data);
  const Dataset older = before_normal();
  const Dataset* before = name.ends_with(".two_runs") ? &older : nullptr;
  const std::vector<chart::Chart> charts =
      chart::make_charts(*kind, {.data = &*data, .analysis = &analysis, .before = before});
  const auto chart = std::ranges::find(charts, of_chart, &chart::Chart::name);
  if (chart == charts.end()) {
    std::fprintf(stderr, "%s has %zu pages\n", name.c_str(), charts.size());
    return 1;
  }
  if (chart->option.is_null()) {
    std::fprintf(stderr, "%s has no data: without_data.txt\n", name.c_str());
    return 1;
  }
  Result<chart::Renderer> renderer = chart::Renderer::create();
  const Result<std::string> svg =
      renderer ? renderer->svg(*chart, chart::theme(dark ? "dark" : "light")) : tl::unexpected<Error>(renderer.error());
  if (!svg) {
    std::fprintf(stderr, "%s\n", to_string(svg.error()).c_str());
    return 1;
  }
  std::fputs(svg->c_str(), stdout);
  return 0;
}

// The data sets with each chart of them.
void for_each_chart(const auto& use) {
  const Dataset older = before_normal();
  for (const std::string_view name : kData) {
    const Dataset data = *dataset_of(std::string(name));
    const Analysis analysis = analysis_of(data);
    const Dataset* before = name == "two_runs" ? &older : nullptr;
    const chart::ChartMaker maker({.data = &data, .analysis = &analysis, .before = before});
    for (const chart::Kind kind : chart::all_kinds())
      if (before == nullptr || kind == chart::Kind::kComparison) use(name, maker.make(kind));
  }
}

int print_pages() {
  for_each_chart([](std::string_view name, const std::vector<chart::Chart>& charts) {
    if (charts.size() > 1)
      std::printf("%s.%s: %zu pages\n", charts.front().name.c_str(), std::string(name).c_str(), charts.size());
  });
  return 0;
}

// What the charts say that cannot be drawn.
int print_missing() {
  for (const char* name : {"empty", "one"}) {
    const Dataset data = *dataset_of(name);
    const Analysis analysis = analysis_of(data);
    const chart::ChartMaker maker({.data = &data, .analysis = &analysis});
    for (const chart::Kind kind : chart::all_kinds())
      for (const chart::Chart& chart : maker.make(kind)) {
        if (!chart.option.is_null()) continue;
        std::printf("%s, %s\n  %s\n", chart.name.c_str(), name, chart.title.c_str());
        for (const std::string& note : chart.notes) std::printf("  %s\n", note.c_str());
      }
  }
  return 0;
}

// Without a folder only checked.
int write_all(const std::vector<std::string>& themes, const std::filesystem::path& folder) {
  Result<chart::Renderer> renderer = chart::Renderer::create();
  if (!renderer) return 1;
  int faults = 0;
  const auto write = [&](const chart::Chart& chart, std::string_view name, const std::string& theme) {
    const std::string file = fmt::format("{}.{}.{}", chart.name, name, theme);
    const Result<std::string> svg = renderer->svg(chart, chart::theme(theme));
    if (!svg) {
      std::printf("%s: %s\n", file.c_str(), to_string(svg.error()).c_str());
      ++faults;
      return;
    }
    for (const std::string& fault : chart::text_faults(*svg)) {
      std::printf("%s: %s\n", file.c_str(), fault.c_str());
      ++faults;
    }
    if (folder.empty()) return;
    static_cast<void>(write_file_atomically(folder / (file + ".svg"), *svg));
    if (const Result<std::string> bytes = chart::png(*svg, 1))
      static_cast<void>(write_file_atomically(folder / (file + ".png"), *bytes));
  };
  for_each_chart([&](std::string_view name, const std::vector<chart::Chart>& charts) {
    for (const chart::Chart& chart : charts)
      for (const std::string& theme : themes)
        if (!chart.option.is_null()) write(chart, name, theme);
  });
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "--all") return assay::write_all({"light", "dark"}, words[1]);
  if (words.size() == 2 && words[0] == "--check" && (words[1] == "light" || words[1] == "dark"))
    return assay::write_all({words[1]}, {});
  if (words.size() == 1 && words[0] == "pages.txt") return assay::print_pages();
  if (words.size() == 1 && words[0] == "without_data.txt") return assay::print_missing();
  return assay::print_one(words.empty() ? "" : words[0]);
}
