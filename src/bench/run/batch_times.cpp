// SPDX-License-Identifier: Apache-2.0
#include "bench/run/batch_times.hpp"

#include <fmt/format.h>

#include "core/traits/cell.hpp"

namespace assay {
namespace {

// Equal for cells that differ only in the batch.
std::string work_key(const LocalTask& local) {
  const Record& row = local.task.row;
  return fmt::format("{} {} {} {} {} {} {} {} {}", row.model, local.model_key(), to_string(row.kv_cache),
                     target_key(row), row.sequence_length.value_or(0), row.output_tokens.value_or(0),
                     row.streams.value_or(1), row.threads.value_or(0), row.given_shapes);
}

}  // namespace

Refusal slow_batch(std::int64_t batch, double milliseconds, const char* basis) {
  return {CellStatus::kSkipped, Reason::kNoTime,
          fmt::format("one inference of this default batch is estimated at {:.0f} s, extrapolated from {}",
                      milliseconds / 1e3, basis),
          fmt::format("--batch-sizes {} measures it", batch)};
}

void BatchTimes::add(const LocalTask& local, const Record& row) {
  if (row.latency_mean_ms) known_[work_key(local)] = {local.task.shape.batch, *row.latency_mean_ms};
}

double BatchTimes::estimate(const LocalTask& local) const {
  const std::int64_t batch = local.task.shape.batch;
  const auto known = known_.find(work_key(local));
  if (known == known_.end() || known->second.first >= batch) return 0;
  return known->second.second * static_cast<double>(batch) / static_cast<double>(known->second.first);
}

}  // namespace assay
