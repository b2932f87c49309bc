// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/result/record.hpp"
#include "core/result/refusal.hpp"
#include "core/result/status.hpp"
#include "core/samples/measurement.hpp"

/// What reports, charts and the dashboard read of a history: the cells that a selection names, their older results, and
/// the runs and machines that they are of. Without samples: `distributions` shows how those of a launch are
/// distributed.
namespace assay {

class Store;

/// Which results. Empty fields do not select; a list selects those with any of its words.
struct Selection {
  std::vector<std::string> models{};  ///< names, or ids of Hugging Face
  std::vector<std::string> families{}, categories{}, architectures{}, hardware{}, engines{}, precisions{}, runs{},
      machines{};
  std::optional<std::int64_t> batch_size{}, sequence_length{};
  std::optional<WallTime> since{}, until{};
  std::size_t most_cells = 2000;  ///< the newest ones; Dataset::left_out counts the others
  bool history = true;            ///< whether to read Dataset::history
  bool distributions = true;      ///< true: Dataset::distributions is read
};

/// One result of a series, for trends.
struct HistoryPoint {
  std::uint32_t series = 0;  ///< index into Dataset::series
  std::int64_t result_id = 0;
  double time_s = 0;                   ///< seconds since 1970, UTC
  std::uint32_t run = 0, version = 0;  ///< indices into Dataset::runs and Dataset::versions
  CellStatus status = CellStatus::kFailed;
  Verification verification = Verification::kUnverified;
  bool ranked = false;  ///< Record::ranked()
  Number p50_ms{}, p50_low_ms{}, p50_high_ms{}, throughput_ips{}, memory_mb{};
  Number mean_ms{};                    ///< all that some imported results have
  Word<MemorySource> memory_source{};  ///< peaks of different sources are not compared
  std::int64_t launches = 0;
  std::int32_t refusal = -1;  ///< why it is `unavailable` or `skipped`: index into Dataset::refusals; -1: it is neither
  /// Fields of the result by these names: what a comparison with another result needs.
  std::string engine_version{}, effective_precision{};
  Flags flags{};
  Word<IntervalScope> latency_p50_interval{};
  LaunchMedians launch_p50_ms{};
};

/// The samples of one kind of one launch, as a picture needs them. Times are 16-bit codes between the shortest and the
/// longest sample, on a logarithmic scale.
struct SampleDistribution {
  std::int64_t result_id = 0, launch_number = 1;
  SampleKind kind = SampleKind::kRun;
  std::int64_t samples = 0, steady = 0;  ///< numbers of samples: in the whole window, and used by statistics
  std::int64_t low_ns = 0, high_ns = 0, window_ns = 0;
  std::int64_t first_steady_bin = 0;
  std::vector<std::uint16_t> quantiles;  ///< steady samples from the least to the greatest, at equal distances
  std::vector<std::uint16_t> bins;       ///< equal parts of the window's wall time: minimum, median, maximum of each
};

struct RunFacts {
  std::string run_id, started, command, host, machine, tool_version, git_commit;
  Json environment{};  ///< environment of the whole run; null: not known
  std::int64_t cells = 0;
  std::optional<int> score{};  ///< quietness of the machine, 0 to 100; absent: it was not examined
};

struct MachineFacts {
  std::string hardware_id, host, processor;
  Json info{};  ///< system_info() of bench/hardware/hardware.hpp
  std::string first_seen, last_seen;
};

/// The highest rate that was measured on a machine.
struct MachinePeak {
  std::string hardware_id, hardware, device, precision, engine, engine_version;
  double flops_per_s = 0, bytes_per_s = 0;
  std::int64_t threads = 0;
  std::string measured_at;
};

struct Dataset {
  std::string source;   ///< the database, or the folders that were read
  std::string made_at;  ///< UTC
  /// The newest result of each series (a series is of one machine). A result that has no time
  /// and no verdict (it was skipped, cut short, not available, or only verified again) does not hide an older one that
  /// has; a newer verdict `verified` does hide `wrong` and `unsupported`. An imported result does not hide an own one.
  /// Own results before imported ones, then newest first.
  std::vector<Record> cells;
  std::vector<std::int64_t> ids;      ///< the result_id of each cell; 0 for those from files
  std::vector<std::string> series;    ///< series keys: those of `cells`
  std::vector<std::string> versions;  ///< "onnxruntime 1.31.1, assay 0.1.0"
  std::vector<Refusal> refusals;      ///< why points of the history did not run, each once
  /// By series, then time. If a selection names runs or an end, until the last of the cells.
  std::vector<HistoryPoint> history;
  std::vector<SampleDistribution> distributions;  ///< same order as `cells`, then by launch and kind
  std::vector<RunFacts> runs;                     ///< runs of the cells and of the history, newest first
  std::vector<MachineFacts> machines;
  std::vector<MachinePeak> peaks;
  std::size_t left_out = 0;
};

/// "onnxruntime 1.31.1, assay 0.1.0".
[[nodiscard]] std::string version_words(const Record& record);

/// An empty database is an empty dataset, not an error. Errors: those of Store::ask.
[[nodiscard]] Result<Dataset> read_dataset(Store& store, const Selection& selection = {});

}  // namespace assay
