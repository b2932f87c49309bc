// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/result/facts.hpp"
#include "core/stats/stats.hpp"

namespace assay {

/// The kind of a timed interval.
enum class SampleKind : std::uint8_t { kRun = 0, kFirstToken = 1, kToken = 2 };

/// The start of a sample if it is unknown.
inline constexpr std::int64_t kUnknownStart = std::numeric_limits<std::int64_t>::min();

/// Samples as columns, in order of completion per stream.
struct Samples {
  std::vector<std::uint8_t> kind;  ///< SampleKind
  std::vector<std::uint32_t> stream;
  std::vector<std::int64_t> start_ns;  ///< time since the window's start; kUnknownStart if unknown
  std::vector<std::int64_t> duration_ns;
  [[nodiscard]] std::size_t size() const { return duration_ns.size(); }
};

/// How long to warm up and to sample. Absent means: decide by the data.
struct MeasurePlan {
  std::optional<std::int64_t> warmup_iterations{};  ///< absent: until steady, within max_warmup_ns
  std::optional<std::int64_t> iterations{};         ///< absent: adaptive (docs/metrics.md, "Stop rule")
  double relative_precision = 0.005;                ///< half-width of the median's 95 % interval / median
  std::int64_t min_samples = 30;
  std::int64_t max_samples = 100'000;
  std::int64_t min_time_ns = 1'000'000'000;
  std::int64_t max_time_ns = 30'000'000'000;
  std::int64_t min_samples_at_time_limit = 3;
  std::int64_t max_warmup_ns = 5'000'000'000;
  bool time_limits_iterations = false;  ///< the times above end fixed numbers of runs, too
  int streams = 1;
};

/// The result of measuring one bound shape. A failure while sampling is a result: the samples before it are kept.
struct Measurement {
  Samples samples;              ///< all of the steady window, warm-up excluded
  std::size_t steady_from = 0;  ///< samples before this index are not used for statistics
  stats::SteadyClass steady_class = stats::SteadyClass::kFlat;
  std::int64_t warmup_iterations = 0;
  std::int64_t warmup_ns = 0;
  std::int64_t window_ns = 0;  ///< wall time of the sampling window
  std::int64_t loop_ns = 0;    ///< wall time inside the timed loops, summed over streams, including our own cost
  std::optional<double> relative_half_width;  ///< reached by the median's interval; absent: too few samples for one
  StopReason stop_reason = StopReason::kIterations;
  std::optional<Error> failure;
};

}  // namespace assay
