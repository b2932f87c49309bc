// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "app/cli/app_forward.hpp"
#include "history/analyse/table.hpp"
#include "history/store/dataset.hpp"
#include "history/store/rows.hpp"
#include "show/report/document.hpp"

namespace assay::cli {

/// Where `query` and `report` put their answer, and how.
struct ReportOutput {
  std::string format;                  ///< text, md, csv, json, html; empty: that of the extension of `path`, else text
  std::string path;                    ///< empty: standard output
  std::string output_format = "text";  ///< the option that all commands have: json stands for the format json

  void add_to(CLI::App& command);
  /// Errors: invalid_argument (the extension is of none of the formats, and no format is given).
  [[nodiscard]] Result<std::string> chosen_format() const;
  /// Prints the document, or writes it into the file, whole or not at all. HTML has its charts inside; Markdown in a
  /// file has them in a folder beside it. Errors: those of writing a file and of chosen_format().
  [[nodiscard]] Status write(const Document& document, const Dataset& data, const Analysis& analysis) const;
  /// The same for the answer to SQL; HTML and Markdown get it as a document with this title.
  [[nodiscard]] Status write(const duckdb::Rows& rows, const std::string& title) const;

 private:
  [[nodiscard]] Status put(const std::string& content) const;
};

}  // namespace assay::cli
