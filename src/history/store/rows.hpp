// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/result/record.hpp"

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

/// What a statement of the user may use.
struct SqlLimits {
  std::size_t most_rows = 100'000;       ///< row limit of the answer; the other rows are left out
  std::uint64_t memory_bytes = 1 << 30;  ///< memory limit of the statement; its answer may have a quarter of it
};

}  // namespace assay::duckdb
