// SPDX-License-Identifier: Apache-2.0
#include "show/chart/files.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "history/analyse/analysis.hpp"
#include "show/chart/render.hpp"

namespace assay::chart {
namespace {

constexpr double kPngScale = 2;  // sharp on screens of high density

// The pages after the last one that was written: an earlier call had more models.
void remove_pages(const std::filesystem::path& folder, std::string_view name, std::size_t written) {
  for (std::size_t page = written;; ++page) {
    const std::string file = page == 0 ? std::string(name) : fmt::format("{}_{}", name, page + 1);
    std::error_code ignored;
    const bool svg = std::filesystem::remove(folder / (file + ".svg"), ignored);
    const bool png = std::filesystem::remove(folder / (file + ".png"), ignored);
    if (page > 0 && !svg && !png) return;
  }
}

// Each page of a chart in both formats.
Status write_chart(Renderer& renderer, const ChartMaker& maker, Kind kind, const std::filesystem::path& folder,
                   WrittenCharts& result) {
  std::size_t pages = 0;
  for (const Chart& chart : maker.make(kind)) {
    if (chart.option.is_null()) {
      result.not_drawn.add(chart);
      continue;
    }
    ASSAY_TRY(const std::string svg, renderer.svg(chart, theme("light")));
    ASSAY_CHECK_OK(write_file_atomically(folder / (chart.name + ".svg"), svg));
    ++pages;
    if (!result.notes.empty()) continue;
    const Result<std::string> bytes = png(svg, kPngScale);
    if (bytes) {
      ASSAY_CHECK_OK(write_file_atomically(folder / (chart.name + ".png"), *bytes));
      continue;
    }
    result.notes.push_back(fmt::format("only SVG files, no PNG: {}{}", bytes.error().message,
                                       bytes.error().hint.empty() ? "" : "; " + bytes.error().hint));
  }
  remove_pages(folder, name_of(kind), pages);
  result.pictures += pages;
  return {};
}

}  // namespace

void NotDrawn::add(const Chart& chart) {
  const std::string why = join(chart.notes, "; ");
  for (auto& [reason, names] : charts_of_reason_)
    if (reason == why) return names.push_back(chart.name);
  charts_of_reason_.push_back({why, {chart.name}});
}

std::string NotDrawn::short_line(const std::string& command) const {
  std::vector<std::string> all;
  for (const auto& [why, names] : charts_of_reason_) all.insert(all.end(), names.begin(), names.end());
  if (all.empty()) return {};
  return fmt::format("not drawn: {}: no data; `{}` says what each needs", join(all, ", "), command);
}

std::vector<std::string> NotDrawn::lines() const {
  std::vector<std::string> lines;
  for (const auto& [why, names] : charts_of_reason_)
    lines.push_back(fmt::format("not drawn: {}: {}", join(names, ", "), why));
  return lines;
}

Result<WrittenCharts> write_charts(const Dataset& data, const std::filesystem::path& folder,
                                   const Cancelled& cancelled) {
  WrittenCharts result;
  const Analysis analysis = analyse(data);
  const ChartMaker maker({.data = &data, .analysis = &analysis});
  ASSAY_TRY(Renderer renderer, Renderer::create({.cancelled = cancelled}));
  for (const Kind kind : all_kinds()) {
    ASSAY_CHECK_OK(write_chart(renderer, maker, kind, folder, result));
  }
  return result;
}

Result<WrittenCharts> write_comparison(const Dataset& before, const Dataset& after, const std::filesystem::path& folder,
                                       const Cancelled& cancelled) {
  WrittenCharts result;
  ASSAY_TRY(Renderer renderer, Renderer::create({.cancelled = cancelled}));
  ASSAY_CHECK_OK(
      write_chart(renderer, ChartMaker({.data = &after, .before = &before}), Kind::kComparison, folder, result));
  return result;
}

}  // namespace assay::chart
