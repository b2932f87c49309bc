// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/base/base64.hpp"
#include "core/base/text.hpp"
#include "show/report/document.hpp"
#include "show/report/format.hpp"

namespace assay {
namespace {

// The colours are those of docs/charts.md: background, text, second text, lines.
constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --page: #ffffff; --ink: #1c2128; --ink-2: #57606a; --line: #d8dee4; --head: #f6f8fa; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e6eaee; --ink-2: #9aa4ae; --line: #2e353c; --head: #1d2228; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 24px 32px 48px; max-width: 1440px; background: var(--page); color: var(--ink);
  font: 14px/1.5 "DejaVu Sans", Verdana, sans-serif; }
h1 { font-size: 24px; margin: 0 0 12px; line-height: 1.25; }
h2 { font-size: 17px; margin: 36px 0 8px; padding-top: 12px; border-top: 1px solid var(--line); }
p { margin: 8px 0; max-width: 76ch; }
.answer { font-size: 15px; }
ul { margin: 8px 0; padding-left: 22px; max-width: 100ch; }
li { margin: 3px 0; overflow-wrap: anywhere; }
code { font: 13px "DejaVu Sans Mono", Menlo, Consolas, monospace; background: var(--head); padding: 1px 4px; border-radius: 3px; }
.table { overflow-x: auto; margin: 12px 0; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 9px; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { background: var(--head); font-weight: bold; vertical-align: bottom; white-space: normal; min-width: 6ch; }
th small { display: block; font-weight: normal; color: var(--ink-2); }
td.n, th.n { text-align: right; }
td.w { min-width: 28ch; white-space: normal; }
tbody tr:hover { background: var(--head); }
figure { margin: 16px 0; }
figure img { max-width: 100%; height: auto; }
nav { margin: 12px 0 0; color: var(--ink-2); }
a { color: inherit; }
footer { margin-top: 40px; padding-top: 12px; border-top: 1px solid var(--line); color: var(--ink-2); font-size: 12px; }
@media print {
  @page { size: A4 landscape; margin: 12mm; }
  :root { color-scheme: light; --page: #ffffff; --ink: #000000; --ink-2: #444444; --line: #bbbbbb; --head: #f0f0f0; }
  body { padding: 0; max-width: none; font-size: 10px; }
  table { font-size: 8.5px; }
  th, td { padding: 2px 5px; white-space: normal; }
  .table { overflow: visible; }
  tr, figure { break-inside: avoid; }
  h2 { break-after: avoid; }
  thead { display: table-header-group; }
  nav { display: none; }
}
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : sanitise(text)) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  return out;
}

// Parts in backquotes are code.
std::string prose(std::string_view text) {
  std::string out;
  bool code = false;
  const auto closes = static_cast<std::size_t>(std::ranges::count(text, '`')) / 2;
  std::size_t pairs = 0;
  std::string part;
  for (const char c : text) {
    if (c != '`' || (!code && pairs == closes)) {
      part += c;
      continue;
    }
    out += escaped(part);
    part.clear();
    out += code ? "</code>" : "<code>";
    pairs += code ? 0 : 1;
    code = !code;
  }
  return out + escaped(part);
}

std::string html_table(const Table& table) {
  constexpr std::size_t kLong = 30;
  std::vector<std::string> classes;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const bool number =
        std::ranges::any_of(table.rows, [&](const auto& row) { return std::holds_alternative<double>(row.at(c)); });
    const bool wide = std::ranges::any_of(table.rows, [&](const auto& row) {
      const auto* text = std::get_if<std::string>(&row.at(c));
      return text != nullptr && text->size() > kLong;
    });
    classes.emplace_back(number ? " class=\"n\"" : wide ? " class=\"w\"" : "");
  }
  std::string out = "<div class=\"table\"><table>\n<thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column& column = table.columns[c];
    const Column rest{"", "", column.unit, column.better};
    std::string below = heading_of(rest);
    if (!below.empty()) below = fmt::format("<small>{}</small>", escaped(trim(below)));
    out += fmt::format("<th scope=\"col\"{}>{}{}</th>", classes[c], escaped(column.heading), below);
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += fmt::format("<td{}>{}</td>", classes[c], escaped(show(row[c], table.columns[c])));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

// A picture is a document of its own: its style does not need the page's permission.
std::string figure(const Picture& picture, std::string_view attributes) {
  const auto data = [](std::string_view svg) { return "data:image/svg+xml;base64," + base64(svg); };
  return fmt::format(
      "<figure{}><picture><source media=\"screen and (prefers-color-scheme: dark)\" srcset=\"{}\"><img src=\"{}\" "
      "alt=\"{}\"></picture></figure>\n",
      attributes, data(picture.dark), data(picture.light), escaped(picture.title));
}

std::string anchor(std::size_t section) { return fmt::format("s{}", section + 1); }

// Text of a model or a runtime ends no script element: JSON needs no '<' but in texts, where it has another form.
std::string inside_script(const Json& data) {
  std::string out;
  for (const char c : json_text(data)) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

struct ScriptParts {
  std::string style, policy, elements;
};

ScriptParts script_parts(const PageScript& script) {
  return {std::string(script.style), fmt::format("; script-src '{}'", policy_hash(script.script)),
          fmt::format("<script type=\"application/json\" id=\"page-data\">{}</script>\n<script>{}</script>\n",
                      inside_script(script.data), script.script)};
}

}  // namespace

std::string to_html(const Document& document, std::span<const Picture> pictures, const PageScript* script) {
  std::string body, contents;
  for (std::size_t i = 0; i < document.sections.size(); ++i) {
    const Section& section = document.sections[i];
    std::string inside;
    for (const std::string& text : section.paragraphs) inside += "<p>" + prose(text) + "</p>\n";
    if (!section.points.empty()) {
      inside += "<ul>\n";
      for (const std::string& point : section.points) inside += "<li>" + prose(point) + "</li>\n";
      inside += "</ul>\n";
    }
    for (const std::string& chart : section.charts)
      for (const Picture& picture : pictures)
        if (picture.name == chart) inside += figure(picture, script != nullptr ? " data-picture" : "");
    for (const Table& table : section.tables)
      if (!table.rows.empty()) inside += html_table(table);
    if (inside.empty()) continue;
    body += fmt::format("<section id=\"{}\"><h2>{}</h2>\n{}</section>\n", anchor(i), escaped(section.heading), inside);
    if (document.sections.size() < 2) continue;
    contents +=
        fmt::format("{}<a href=\"#{}\">{}</a>", contents.empty() ? "" : " · ", anchor(i), escaped(section.heading));
  }
  if (!contents.empty()) contents = "<nav>" + contents + "</nav>";
  const ScriptParts parts = script != nullptr ? script_parts(*script) : ScriptParts();
  const std::string style = std::string(kStyle) + parts.style;
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'{}; style-src '{}'; img-src data:; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n<style>{}</style>\n"
      "</head>\n<body>\n<header><h1>{}</h1>\n<p class=\"answer\">{}</p>\n{}</header>\n<main>\n{}</main>\n"
      "<footer>{}</footer>\n{}</body>\n</html>\n",
      parts.policy, policy_hash(style), escaped(document.title), style, escaped(document.title), prose(document.answer),
      contents, body, escaped(origin_words(document)), parts.elements);
}

}  // namespace assay
