// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "base/json.hpp"
#include "result/record.hpp"

namespace assay::duckdb {

/// The whole answer of a query. A cell is null, boolean, integer, number or string.
struct Rows {
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows;

  /// The place of a column. A name that is not there is a bug.
  [[nodiscard]] std::size_t column(std::string_view name) const;
  /// Each row as a result; columns that are no field of one are left out. Errors: those of set_field().
  [[nodiscard]] Result<std::vector<Record>> records() const;
};

}  // namespace assay::duckdb
