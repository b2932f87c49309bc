// SPDX-License-Identifier: Apache-2.0
#include "show/dashboard/chart_page.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <assay/error.hpp>

#include "core/base/text.hpp"
#include "history/store/dataset.hpp"
#include "show/dashboard/charts.hpp"
#include "show/report/document.hpp"

// The bundles of web/src/chart_page.tsx and chart_page.css, part of the program (cmake/embed_binary.cmake).
namespace assay::embedded {
std::string_view chart_page_script();
std::string_view chart_page_style();
}  // namespace assay::embedded

namespace assay::dashboard {

Result<std::string> chart_page(chart::Renderer& renderer, std::span<const chart::Chart> pages, const Dataset& data) {
  ASSAY_CHECK(!pages.empty(), "a chart has a page");
  const chart::Chart& first = pages.front();
  std::vector<Picture> pictures;
  Section section{.heading = first.subtitle, .charts = {first.name}};
  Json charts = Json::array();
  for (const chart::Chart& page : pages) {
    for (const std::string& note : page.notes)
      if (std::ranges::find(section.paragraphs, note) == section.paragraphs.end()) section.paragraphs.push_back(note);
    if (page.option.is_null()) continue;
    const bool listed = std::ranges::any_of(section.tables, [&](const Table& t) { return t.rows == page.table.rows; });
    if (!listed) section.tables.push_back(page.table);
    ASSAY_TRY(std::string light, renderer.svg(page, chart::theme("light")));
    ASSAY_TRY(std::string dark, renderer.svg(page, chart::theme("dark")));
    // The pages of one chart stand in one place.
    pictures.push_back({first.name, page.title, std::move(light), std::move(dark)});
    Json drawn = picture_json(page);
    drawn["name"] = page.name;
    charts.push_back(std::move(drawn));
  }
  Document document{.name = first.name, .title = first.title, .answer = first.summary, .sections = {}};
  document.data = {{"source", data.source}, {"made_at", data.made_at}, {"cells", data.cells.size()}};
  if (pictures.empty()) {
    document.answer = join(section.paragraphs, " ");
    return to_html(document);
  }
  document.sections.push_back(std::move(section));
  const PageScript script{embedded::chart_page_style(),
                          embedded::chart_page_script(),
                          {{"themes", themes_json()}, {"charts", std::move(charts)}}};
  return to_html(document, pictures, &script);
}

}  // namespace assay::dashboard
