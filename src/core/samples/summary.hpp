// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/base/json.hpp"
#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"

namespace assay {

/// Sets the fields of a record that depend on its samples: latency with quantiles (nearest rank, exact: integers of
/// nanoseconds), intervals and qualities, autocorrelation_time, outliers, throughput_ips, iterations, window_ns,
/// latency_window_p50_ms, warm-up, steady state, stop reason, wall_time_per_iteration_ns. All except the last five come
/// from the samples of kind `run` from `measurement.steady_from` on. Without samples only the warm-up and the stop
/// reason are set.
///
/// Throughput: one stream: items_per_run x runs / sum of their durations. Several: items completed in the window in
///             which all streams ran (from the latest first start to the earliest last end) over its length; a run
///             across an edge counts by its share. If a stream has fewer than two steady runs, all runs of the
///             measurement count. Without starts: all items over measurement.window_ns.
/// Generation: summarise_tokens() of core/samples/token_summary.hpp, from steady_from on. A latency is then that of a
/// whole
///             generation, and an item is a sequence.
/// Flags:      few_samples (fewer than 30 runs, or the median has no interval), unsteady (class unsteady or slowdown),
///             noisy (more than 5 % outliers).
///
/// `measurement` may be empty if its worker died: its fields are then absent.
void summarise(const Measurement& measurement, const Samples& samples, std::int64_t items_per_run, Record& record);

/// Flags a record as noisy if noise() of its environment record {"before", "after", "noise"} has reasons.
void flag_noise(const Json& environment, Record& record);

}  // namespace assay
