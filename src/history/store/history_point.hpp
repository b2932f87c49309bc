// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "history/store/dataset.hpp"

/// What every dataset makes of a row in the same way, whether it was read from the database or from files.
namespace assay {

/// Seconds since 1970 of a time in UTC, such as "2026-03-02T12:34:56.789012Z". A date alone is its beginning; other
/// texts are 0.
[[nodiscard]] double seconds_since_1970(const std::string& timestamp);

/// Which of the rows of one series, at least one and oldest first, is its cell (Dataset::cells): the newest
/// (core/result/newest.hpp) that has a time or a verdict, by the rule of queries/cells_latest.sql.
[[nodiscard]] const Record& cell_of_series(std::span<const Record* const> oldest_first);

/// The point of a result, but for its indices and its result id.
[[nodiscard]] HistoryPoint history_point(const Record& row);

/// Why rows did not run, each reason once. Lifetime: `refusals` outlives it.
class RefusalIndices {
 public:
  explicit RefusalIndices(std::vector<Refusal>& refusals) : refusals_(refusals) {}
  /// HistoryPoint::refusal of a row.
  [[nodiscard]] std::int32_t add(const Record& row);

 private:
  std::vector<Refusal>& refusals_;
  std::map<std::tuple<CellStatus, std::optional<Reason>, std::string, std::string>, std::int32_t> places_;
};

}  // namespace assay
