// SPDX-License-Identifier: Apache-2.0

// scripted_charts NAME.DATA[.dark].svg: prints a chart of invented results, for comparison with the approved file of
// the same name in charts/ (tests/approve.py). DATA: one (a single cell), normal, thirty (models),
// unranked (times that nothing is claimed of), two_runs (normal, and an older run for the comparison), long (names,
// and versions that changed with the last runs), empty.
// scripted_charts --check: says where text is cut or overlaps in any page of any chart.
// scripted_charts --all FOLDER: writes every chart of every DATA there as SVG and PNG, and says what is wrong with
// their text.

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.hpp"
#include "chart/chart.hpp"
#include "chart/layout.hpp"
#include "chart/render.hpp"
#include "chart_data.hpp"

namespace assay {
namespace {

int print_one(std::string name) {
  if (name.ends_with(".svg")) name.resize(name.size() - 4);
  const bool dark = name.ends_with(".dark");
  if (dark) name.resize(name.size() - 5);
  const std::size_t dot = name.find('.');
  const std::optional<chart::Kind> kind = chart::find_kind(name.substr(0, dot));
  const std::optional<Dataset> data = dot == std::string::npos ? std::nullopt : dataset_of(name.substr(dot + 1));
  if (!kind || !data) {
    std::fputs("usage: scripted_charts NAME.one|normal|thirty|unranked[.dark].svg | without_data.txt | --all FOLDER\n",
               stderr);
    return 2;
  }
  const Analysis analysis = analysis_of(*data);
  const Dataset older = before_normal();
  const Dataset* before = name.ends_with(".two_runs") ? &older : nullptr;
  const chart::Chart chart =
      chart::make_charts(*kind, {.data = &*data, .analysis = &analysis, .before = before}).front();
  if (chart.option.is_null()) {
    std::fprintf(stderr, "%s has no data: without_data.txt\n", name.c_str());
    return 1;
  }
  Result<chart::Renderer> renderer = chart::Renderer::create();
  const Result<std::string> svg =
      renderer ? renderer->svg(chart, chart::theme(dark ? "dark" : "light")) : tl::unexpected<Error>(renderer.error());
  if (!svg) {
    std::fprintf(stderr, "%s\n", to_string(svg.error()).c_str());
    return 1;
  }
  std::fputs(svg->c_str(), stdout);
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
int write_all(const std::filesystem::path& folder) {
  Result<chart::Renderer> renderer = chart::Renderer::create();
  if (!renderer) return 1;
  int faults = 0;
  const Dataset older = before_normal();
  for (const std::string_view name : {"one", "normal", "thirty", "unranked", "two_runs", "long", "empty"}) {
    const Dataset data = *dataset_of(std::string(name));
    const Analysis analysis = analysis_of(data);
    const Dataset* before = name == "two_runs" ? &older : nullptr;
    const chart::ChartMaker maker({.data = &data, .analysis = &analysis, .before = before});
    for (const chart::Kind kind : chart::all_kinds()) {
      if (before != nullptr && kind != chart::Kind::kComparison) continue;
      for (const chart::Chart& chart : maker.make(kind)) {
        if (chart.option.is_null()) {
          continue;
        }
        for (const char* theme : {"light", "dark"}) {
          if (folder.empty() && std::string_view(theme) == "dark") continue;
          const Result<std::string> svg = renderer->svg(chart, chart::theme(theme));
          if (!svg) {
            std::printf("%s.%s: %s\n", chart.name.c_str(), std::string(name).c_str(), to_string(svg.error()).c_str());
            ++faults;
            continue;
          }
          const std::string file = fmt::format("{}.{}.{}", chart.name, name, theme);
          for (const std::string& fault : chart::text_faults(*svg)) {
            if (std::string_view(theme) == "light") std::printf("%s: %s\n", file.c_str(), fault.c_str());
            ++faults;
          }
          if (folder.empty()) continue;
          static_cast<void>(write_file_atomically(folder / (file + ".svg"), *svg));
          if (const Result<std::string> bytes = chart::png(*svg, 1))
            static_cast<void>(write_file_atomically(folder / (file + ".png"), *bytes));
        }
      }
    }
  }
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words.size() == 2 && words[0] == "--all") return assay::write_all(words[1]);
  if (words.size() == 1 && words[0] == "--check") return assay::write_all({});
  if (words.size() == 1 && words[0] == "without_data.txt") return assay::print_missing();
  return assay::print_one(words.empty() ? "" : words[0]);
}
