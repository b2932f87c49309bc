// SPDX-License-Identifier: Apache-2.0
#include "core/traits/inconsistency.hpp"

#include <optional>
#include <string>

#include "core/traits/cell.hpp"

namespace assay {
namespace {

bool measured(const Record& row) { return row.status == CellStatus::kCompleted && row.latency_p50_ms.value_or(0) > 0; }

bool disjoint_below(const Record& a, const Record& b) {
  return a.latency_p50_high_ms && b.latency_p50_low_ms && *a.latency_p50_high_ms < *b.latency_p50_low_ms;
}

// Everything that two cells must share beside the batch.
std::string key_without_batch(const Record& row) { return cell_key_of_any_batch(row) + target_key(row); }

}  // namespace

std::vector<Inconsistency> inconsistent_cells(std::span<const Record> rows) {
  constexpr double kNoticeably = 0.95, kCertainly = 0.8;
  constexpr double kLeastMs = 0.002;  // what the clock and the loop around a run may differ by
  std::vector<std::string> keys;
  keys.reserve(rows.size());
  for (const Record& row : rows) keys.push_back(measured(row) ? key_without_batch(row) : std::string());
  std::vector<Inconsistency> found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Record& smaller = rows[i];
    if (!measured(smaller) || !smaller.batch_size) continue;
    std::optional<std::size_t> next;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (keys[j] != keys[i] || rows[j].batch_size <= smaller.batch_size) continue;
      if (!next || rows[j].batch_size < rows[*next].batch_size) next = j;
    }
    if (!next) continue;
    const Record& larger = rows[*next];
    if (*smaller.latency_p50_ms - *larger.latency_p50_ms < kLeastMs) continue;
    const double ratio = *larger.latency_p50_ms / *smaller.latency_p50_ms;
    if (ratio < kCertainly || (ratio < kNoticeably && disjoint_below(larger, smaller))) found.push_back({i, *next});
  }
  return found;
}

std::vector<bool> inconsistent_rows(std::span<const Record> rows) {
  std::vector<bool> marked(rows.size(), false);
  for (const Inconsistency& pair : inconsistent_cells(rows)) marked[pair.smaller] = marked[pair.larger] = true;
  return marked;
}

}  // namespace assay
