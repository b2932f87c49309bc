// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/base/words.hpp"

/// What a Record states by a word of a closed list (docs/metrics.md).
namespace assay {

/// Beside the status. In the order of the alphabet, as files have them.
enum class Flag {
  kDoubtfulTime,      ///< its time cannot be true (core/result/newest.hpp)
  kFewSamples,        ///< too few for a percentile that the row has
  kImported,          ///< read from a file of results, ours or another tool's
  kLimitedByBudget,   ///< `--budget` left no time for all planned launches
  kLimitedByMaxTime,  ///< `--max-time` left no time for all planned launches
  kNoisy,             ///< other activity disturbed the launches
  kPartial,           ///< interrupted: fewer samples than requested
  kScaled,            ///< a smaller model than the one that was requested
  kSeeded,            ///< random weights
  kSimulated,         ///< a device that computes no real times
  kSoftware,          ///< a device that a processor emulates
  kUnsteady,          ///< no steady part was found in the series
};
template <>
struct WordsOf<Flag> {
  static constexpr std::array<std::string_view, 12> kAll{"doubtful_time",
                                                         "few_samples",
                                                         "imported",
                                                         "limited_by_budget",
                                                         "limited_by_max_time",
                                                         "noisy",
                                                         "partial",
                                                         "scaled",
                                                         "seeded",
                                                         "simulated",
                                                         "software",
                                                         "unsteady"};
};
using Flags = WordSet<Flag>;

/// Whether the worker of a launch had run another shape before.
enum class Process { kFresh, kWarm };
template <>
struct WordsOf<Process> {
  static constexpr std::array<std::string_view, 2> kAll{"fresh", "warm"};
};

/// Whether idle threads of a runtime wait actively: as requested.
enum class Spin { kOn, kOff, kRuntime };
template <>
struct WordsOf<Spin> {
  static constexpr std::array<std::string_view, 3> kAll{"on", "off", "runtime"};
};

/// The same as read back from the runtime.
enum class EffectiveSpin { kOn, kOff, kUnknown };
template <>
struct WordsOf<EffectiveSpin> {
  static constexpr std::array<std::string_view, 3> kAll{"on", "off", "unknown"};
};

/// What a runtime does with denormal numbers.
enum class Denormals { kFlushed, kKept, kUnknown };
template <>
struct WordsOf<Denormals> {
  static constexpr std::array<std::string_view, 3> kAll{"flushed", "kept", "unknown"};
};

/// What the timed interval contains (docs/metrics.md).
enum class Contract { kHost, kDeviceResident };
template <>
struct WordsOf<Contract> {
  static constexpr std::array<std::string_view, 2> kAll{"e2e_host", "device_resident"};
};

/// What memory was measured of. A warm process may have had its peak with an earlier shape: an upper bound.
enum class MemorySource { kProcess, kWarmProcess, kDevice };
template <>
struct WordsOf<MemorySource> {
  static constexpr std::array<std::string_view, 3> kAll{"process", "process_warm", "device"};
};

/// What the interval of a median covers.
enum class IntervalScope { kLaunches, kOneProcess };
template <>
struct WordsOf<IntervalScope> {
  static constexpr std::array<std::string_view, 2> kAll{"launches", "one_process"};
};

/// Why sampling ended.
enum class StopReason { kIterations, kPrecisionReached, kMaxSamples, kMaxTime, kInterrupted, kFailure };
template <>
struct WordsOf<StopReason> {
  static constexpr std::array<std::string_view, 6> kAll{"iterations", "precision_reached", "max_samples",
                                                        "max_time",   "interrupted",       "failure"};
};
using StopReasons = WordSet<StopReason>;

/// The KV cache of a decode graph (docs/zoo.md, "Generative models"). Whole graphs and prefills have kGrowing.
enum class KvCache {
  kGrowing,  ///< each run returns a longer cache: the new keys and values are concatenated to it
  kStatic,   ///< the cache has its maximal length from the start; plain operators write into it at given positions
  kRuntime,  ///< a cache of the runtime's own: in its attention operator, or in variables of its model
};
template <>
struct WordsOf<KvCache> {
  static constexpr std::array<std::string_view, 3> kAll{"growing", "static", "runtime"};
};

/// When a runtime learns the extents of its inputs.
enum class ShapesForm {
  kStatic,    ///< all extents are fixed before it compiles
  kExported,  ///< open extents stay open, because that is the default of the engine
  kDynamic,   ///< open extents stay open, because of --dynamic-shapes or --budget
  kOpen,      ///< some open extents are fixed
};
template <>
struct WordsOf<ShapesForm> {
  static constexpr std::array<std::string_view, 4> kAll{"static", "exported", "dynamic", "open"};
};

/// Where the weights of a model come from.
enum class Weights { kCheckpoint, kSeeded, kGiven };
template <>
struct WordsOf<Weights> {
  static constexpr std::array<std::string_view, 3> kAll{"checkpoint", "seeded", "given"};
};

/// The median of one launch of a cell.
struct LaunchMedian {
  std::int64_t launch = 1;  ///< its number: that of its round, unique within the cell
  double p50_ms = 0;

  friend bool operator==(const LaunchMedian&, const LaunchMedian&) = default;
};

using LaunchMedians = std::vector<LaunchMedian>;

}  // namespace assay
