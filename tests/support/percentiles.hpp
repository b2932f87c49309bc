// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result/record.hpp"

namespace assay {

/// Gives `row` the percentiles of invented times, in ms: the median with its interval over launches, and the higher
/// ones in proportion to it, of which the 99th has too few samples.
inline void set_percentiles(Record& row, double p50, double low, double high) {
  row.latency_p50_ms = p50;
  row.latency_p50_low_ms = low;
  row.latency_p50_high_ms = high;
  row.latency_p90_ms = p50 * 1.09;
  row.latency_p90_low_ms = p50 * 1.07;
  row.latency_p90_high_ms = p50 * 1.12;
  row.latency_p95_ms = p50 * 1.16;
  row.latency_p95_low_ms = p50 * 1.12;
  row.latency_p95_high_ms = p50 * 1.2;
  row.latency_p99_ms = p50 * 1.4;
  row.latency_p50_quality = row.latency_p90_quality = row.latency_p95_quality = "ok";
  row.latency_p99_quality = "few_samples(n=200<368)";
  row.latency_p50_interval = IntervalScope::kLaunches;
}

}  // namespace assay
