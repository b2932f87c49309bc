// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.hpp"
#include "show/report/csv_cell.hpp"
#include "show/report/document.hpp"
#include "show/report/format.hpp"
#include "show/report/terminal.hpp"

namespace assay {
namespace {

bool is_numeric(const Table& table, std::size_t column) {
  return std::ranges::any_of(table.rows,
                             [&](const auto& row) { return std::holds_alternative<double>(row.at(column)); });
}

std::string heading_on_terminal(const Column& column) {
  return column.heading + (column.unit.empty() ? "" : " " + column.unit);
}

std::string in_markdown(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_table(const Table& table) {
  std::string head = "|", rule = "|", body;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    head += " " + in_markdown(heading_of(table.columns[c])) + " |";
    rule += is_numeric(table, c) ? "---:|" : "---|";
  }
  for (const auto& row : table.rows) {
    body += '|';
    for (std::size_t c = 0; c < row.size(); ++c) body += " " + in_markdown(show(row[c], table.columns[c])) + " |";
    body += '\n';
  }
  return head + "\n" + rule + "\n" + body;
}

// The text of a table on a terminal.
struct TextColumn {
  std::size_t place;  // among the columns of the table
  std::size_t width;
  bool numeric;
};

std::vector<TextColumn> text_columns(const Table& table) {
  std::vector<TextColumn> columns;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t most = columns_of(heading_on_terminal(table.columns[c]));
    for (const auto& row : table.rows) most = std::max(most, columns_of(one_line(show(row[c], table.columns[c]))));
    columns.push_back({c, most, is_numeric(table, c)});
  }
  return columns;
}

// A table as wide as the terminal allows: what does not fit is omitted from the right and named, but sentences, which
// say what is claimed of the numbers, stand below their row.
std::string terminal_table(const Table& table, const Colours& colours, std::size_t width) {
  constexpr std::size_t kIndent = 2, kGap = 2, kBelow = 6;
  std::vector<TextColumn> columns = text_columns(table);
  std::size_t needed = kIndent;
  for (const TextColumn& column : columns) needed += column.width + (column.place == 0 ? 0 : kGap);
  std::vector<TextColumn> below;
  if (needed > width) {
    const auto first = std::ranges::stable_partition(
        columns, [&](const TextColumn& column) { return !table.columns[column.place].sentence; });
    below.assign(first.begin(), first.end());
    columns.erase(first.begin(), first.end());
  }
  std::size_t shown = 0, used = kIndent;
  while (shown < columns.size() && used + columns[shown].width <= width) used += columns[shown++].width + kGap;
  shown = std::max<std::size_t>(shown, 1);
  std::vector<std::string> omitted;
  for (std::size_t c = shown; c < columns.size(); ++c) omitted.push_back(table.columns[columns[c].place].heading);
  columns.resize(shown);
  const auto line = [&](const auto& text_of) {
    std::string text(kIndent, ' ');
    for (const TextColumn& column : columns) {
      if (column.place != columns.front().place) text += std::string(kGap, ' ');
      text += padded(text_of(column.place), column.width, column.numeric);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string out =
      colours("1", line([&](std::size_t place) { return heading_on_terminal(table.columns[place]); })) + "\n";
  for (const auto& row : table.rows) {
    out += line([&](std::size_t place) { return one_line(show(row[place], table.columns[place])); }) + "\n";
    for (const TextColumn& column : below)
      if (const auto* text = std::get_if<std::string>(&row[column.place]); text != nullptr && !text->empty())
        out += folded(std::string(kBelow, ' '), one_line(*text), kBelow, width);
  }
  if (!omitted.empty())
    out +=
        folded("  ", fmt::format("Without room for: {}; --format csv has all columns.", join(omitted, ", ")), 2, width);
  return out;
}

bool is_empty(const Section& section) {
  return section.paragraphs.empty() && section.points.empty() &&
         std::ranges::all_of(section.tables, [](const Table& table) { return table.rows.empty(); });
}

}  // namespace

std::string origin_words(const Document& document) {
  std::string schema = fmt::format("Report schema {}.", kReportSchema);
  if (!document.data.contains("source")) return schema;
  return fmt::format("Made from {} ({} cells) at {}. {}", document.data.value("source", ""),
                     document.data.value("cells", 0), document.data.value("made_at", ""), schema);
}

std::string to_markdown(const Document& document, std::span<const std::pair<std::string, std::string>> files) {
  std::string out = fmt::format("# {}\n\n", document.title);
  if (!document.answer.empty()) out += document.answer + "\n\n";
  for (const Section& section : document.sections) {
    std::string pictures;
    for (const std::string& chart : section.charts)
      for (const auto& [name, path] : files)
        if (name == chart) pictures += fmt::format("![{}]({})\n\n", name, path);
    if (is_empty(section) && pictures.empty()) continue;
    out += fmt::format("## {}\n\n", section.heading);
    for (const std::string& text : section.paragraphs) out += text + "\n\n";
    for (const std::string& point : section.points) out += "- " + point + "\n";
    if (!section.points.empty()) out += '\n';
    for (const Table& table : section.tables)
      if (!table.rows.empty()) out += markdown_table(table) + "\n";
    out += pictures;
  }
  return out + fmt::format("---\n\n{}\n", origin_words(document));
}

Json to_json(const Document& document) {
  Json sections = Json::array();
  for (const Section& section : document.sections) {
    Json tables = Json::array();
    for (const Table& table : section.tables) tables.push_back(rows_json(table));
    sections.push_back({{"heading", section.heading},
                        {"paragraphs", section.paragraphs},
                        {"points", section.points},
                        {"tables", std::move(tables)}});
  }
  Json json = {{"schema_version", kReportSchema},
               {"report", document.name},
               {"title", document.title},
               {"answer", document.answer}};
  json.update(document.data);
  json["sections"] = std::move(sections);
  return json;
}

std::string to_csv(const Table& table) {
  std::string out;
  for (const Column& column : table.columns) out += (out.empty() ? "" : ",") + csv_cell(column.key);
  out += '\n';
  for (const Json& row : rows_json(table)) {
    bool first = true;
    for (const auto& [key, value] : row.items()) {
      if (!first) out += ',';
      first = false;
      out += csv_cell(value);
    }
    out += '\n';
  }
  return out;
}

std::string to_csv(const Document& document) {
  if (!document.for_files.columns.empty()) return to_csv(document.for_files);
  for (const Section& section : document.sections)
    for (const Table& table : section.tables) return to_csv(table);
  Table sentences{{{"section", "section", ""}, {"text", "text", ""}}, {}};
  for (const Section& section : document.sections) {
    for (const std::string& text : section.paragraphs) sentences.rows.push_back({section.heading, text});
    for (const std::string& text : section.points) sentences.rows.push_back({section.heading, text});
  }
  return to_csv(sentences);
}

std::string to_text(const Table& table, bool colour, int width) {
  return terminal_table(table, Colours(colour), static_cast<std::size_t>(width));
}

std::string to_text(const Document& document, bool colour, int width) {
  const Colours colours(colour);
  const auto columns = static_cast<std::size_t>(width);
  std::string out = colours("1", document.title) + "\n";
  if (!document.answer.empty()) out += folded("", one_line(document.answer), 0, columns);
  for (const Section& section : document.sections) {
    if (is_empty(section)) continue;
    out += "\n" + colours("1", section.heading) + "\n";
    for (const std::string& text : section.paragraphs) out += folded("  ", one_line(text), 2, columns);
    for (const std::string& point : section.points) out += folded("  ", one_line(point), 4, columns);
    for (const Table& table : section.tables)
      if (!table.rows.empty()) out += terminal_table(table, colours, columns);
  }
  return out;
}

}  // namespace assay
