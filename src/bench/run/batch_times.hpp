// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "bench/run/local_task.hpp"
#include "core/result/refusal.hpp"

namespace assay {

/// A default batch is skipped if one inference is estimated to take longer than this.
inline constexpr double kSlowDefaultMs = 10'000;
/// Why it is skipped. `basis`: from what the time was extrapolated.
[[nodiscard]] Refusal slow_batch(std::int64_t batch, double milliseconds, const char* basis);

/// The mean latencies of the cells that ran, to estimate those of larger batches. Thread: one at a time.
class BatchTimes {
 public:
  /// Remembers the mean latency of a launch of the cell, if it has one.
  void add(const LocalTask& local, const Record& row);
  /// The time of one inference of the cell in ms, extrapolated from a smaller batch; 0: unknown.
  [[nodiscard]] double estimate(const LocalTask& local) const;

 private:
  std::map<std::string, std::pair<std::int64_t, double>> known_;  ///< batch and mean, for cells that differ only in it
};

}  // namespace assay
