// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "history/analyse/table.hpp"

namespace assay {

struct Analysis;
struct Dataset;

/// A report before it has a format. Sentences are plain text; a part in backquotes is a command, a file or a key.

struct Section {
  std::string heading;
  std::vector<std::string> paragraphs{};
  std::vector<std::string> points{};  ///< a list, after the paragraphs
  std::vector<Table> tables{};        ///< none, one, or a few of one kind; those without rows are left out
  std::vector<std::string> charts{};  ///< names of charts (docs/charts.md) that belong here
};

struct Document {
  std::string name;    ///< "optimal-hardware"
  std::string title;   ///< "Optimal hardware for latency"
  std::string answer;  ///< the first paragraph: the answer in a sentence or two
  std::vector<Section> sections;
  Json data = Json::object();  ///< additional data of the JSON, beside the tables
  Table for_files{};           ///< the table of the CSV, unless it has no column
};

/// A picture for a report: SVG text in both themes. `name` is that of Section::charts; pages of one chart have the
/// same.
struct Picture {
  std::string name, title;
  std::string light, dark;
};

/// What makes the pictures of a page interactive: `script` finds the figures, in the order of `pictures`, by
/// `figure[data-picture]`, and `data` in the element `page-data`.
struct PageScript {
  std::string_view style, script;
  Json data;
};

/// The name of a report, and what it answers.
struct ReportName {
  std::string_view name, meaning;
};
[[nodiscard]] std::span<const ReportName> report_names();

/// Errors: not_found for a name that is not among report_names(), with the nearest one.
[[nodiscard]] Result<Document> make_report(std::string_view name, const Dataset& data, const Analysis& analysis);

/// "Made from FILE (3 cells) at TIME. Report schema 1.0."; of a document without a source only the schema.
[[nodiscard]] std::string origin_words(const Document& document);
/// `files`: where the SVG file of a chart lies, relative to the report: chart name, path; charts without are left out.
[[nodiscard]] std::string to_markdown(const Document& document,
                                      std::span<const std::pair<std::string, std::string>> files = {});
/// {"schema_version", "report", "title", "answer", "sections": [{"heading", "paragraphs", "points", "tables": [[…]]}],
/// …data}
[[nodiscard]] Json to_json(const Document& document);
/// Document::for_files, else the first table of the document; if it has none, its sentences with their sections. RFC
/// 4180. Text that a spreadsheet would execute begins with an apostrophe.
[[nodiscard]] std::string to_csv(const Document& document);
[[nodiscard]] std::string to_csv(const Table& table);
/// One static file: pictures inline in both themes, a content security policy that allows nothing but its own style and
/// `script`, printable. Without `script` it has none.
[[nodiscard]] std::string to_html(const Document& document, std::span<const Picture> pictures = {},
                                  const PageScript* script = nullptr);
/// For a terminal of `width` columns.
[[nodiscard]] std::string to_text(const Document& document, bool colour, int width);
/// A table alone: what the terminal is too narrow for stands below its row if it is a sentence, else it is omitted from
/// the right and named.
[[nodiscard]] std::string to_text(const Table& table, bool colour, int width);

}  // namespace assay
