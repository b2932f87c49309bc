// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result/record.hpp"
#include "core/result/run_info.hpp"
#include "history/analyse/compare.hpp"

namespace assay {

/// Conclusions from rows. Only rows that are `ranked()` are compared, and only rows of equal model (by its identity),
/// shape, precision, streams and contract with each other. A difference is only claimed as compare_cells() claims it.

/// Whether the row was measured and verified, but its time is too disturbed or too uncertain to be ranked.
[[nodiscard]] bool too_unsure_to_rank(const Record& row);

/// The rows; a name that stands for several models is followed by the model id: "bert
/// (bert-base-uncased)". Everything here compares models by `model`.
[[nodiscard]] std::vector<Record> with_distinct_names(std::vector<Record> rows);

/// The same for the results of several runs, which may call one model "bert", "bert-base-uncased" and "my_bert": a
/// model with several names is called by its id, so that it is one model.
[[nodiscard]] std::vector<Record> with_names_of_models(std::vector<Record> rows);

/// Models in order of first appearance; likewise families and targets.
[[nodiscard]] std::vector<std::string> models_of(std::span<const Record> rows);
[[nodiscard]] std::vector<std::string> families_of(std::span<const Record> rows);
[[nodiscard]] std::vector<std::string> targets_of(std::span<const Record> rows);

/// A model's ranked row on a target with the smallest batch, then the shortest sequence; null if there is no such row.
[[nodiscard]] const Record* representative(std::span<const Record> rows, const std::string& model,
                                           const std::string& target);

/// The rows that stand for a model in a one-number table, one for each target: all of one cell (comparable()), that
/// which most targets have, of several the one with the smallest batch, then the shortest sequence. Without targets
/// that compute wrong numbers for the model at any shape; likewise throughput_cells() and best_throughput().
[[nodiscard]] std::vector<const Record*> representatives(std::span<const Record> rows, const std::string& model);

/// The ranked rows with a throughput of a model, of the precision and the lengths that `like` has: the cells of which
/// the best is chosen. An empty target: of every target.
[[nodiscard]] std::vector<const Record*> throughput_cells(std::span<const Record> rows, const std::string& model,
                                                          const std::string& target, const Record& like);
/// The one of these with the highest throughput; null if there are no such rows.
[[nodiscard]] const Record* best_throughput(std::span<const Record> rows, const std::string& model,
                                            const std::string& target, const Record& like);

/// How many times faster than the default engine on the CPU: geometric mean of the ratios of times over the shapes that
/// both have, of each round, then over the rounds. Fleming, Wallace: "How not to lie with statistics", CACM 1986, for
/// the geometric mean. Cells without two common rounds are only included if no cell has them, and nothing is claimed.
struct Speedup {
  std::string target;
  /// Comparison of the target (baseline) with the CPU (candidate): the ratio is the speed-up.
  CellComparison comparison;
  std::size_t pairs = 0;     ///< cells that were compared
  std::size_t left_out = 0;  ///< cells of both without two common rounds
};
[[nodiscard]] std::vector<Speedup> speedups_against_cpu(std::span<const Record> rows);

/// How a hardware compares with the fastest other hardware over the cells that both have: "high", "medium-high",
/// "medium" or "low" for at most 1.5, 4, 10 times slower, and more.
struct Rating {
  std::string rating;                       ///< the worst rating within the interval; "": not rated
  std::string best;                         ///< the best rating within the interval
  std::string why;                          ///< why it is not rated, or which comparisons claim nothing
  double slower = 1;                        ///< slowdown factor, at least 1; also set if it is not rated
  std::optional<stats::Interval> interval;  ///< 95 %, over rounds
  std::size_t cells = 0;                    ///< compared with the fastest other hardware
};
/// Rated only if it is called slower than another target, or faster than every other one. Not rated either if it has no
/// ranked row or computed wrong numbers. nullopt if `rows` has nothing of the target.
[[nodiscard]] std::optional<Rating> performance_rating(std::span<const Record> rows, const std::string& target);
/// "high", "medium-high or high" if the interval covers both, "not rated: …".
[[nodiscard]] std::string rating_words(const Rating& rating);

/// What an answer to "which is faster?" rests on.
struct HowSure {
  std::size_t cells = 0;                   ///< completed and measured
  std::size_t precise = 0;                 ///< number of `cells` whose sampling ended because the precision was reached
  std::optional<double> half_width;        ///< median over the cells of the interval's longer side / the median
  std::optional<double> worst_half_width;  ///< the largest
  std::size_t one_process = 0;             ///< number of `cells` with one launch
  std::size_t sure_of_one_process = 0;     ///< number of cells in `one_process` that are not in `unranked`
  std::size_t unranked = 0;                ///< completed, measured and verified, but not ranked
  std::size_t pairs = 0;                   ///< the best of each cell with each other target
  std::size_t claimed = 0;                 ///< number of `pairs` that are called different
  std::optional<double> detectable;        ///< median over the pairs of the smallest detectable difference
  std::optional<double> worst_detectable;  ///< the largest
  struct Open {
    std::string model, shape, best, runner_up;
    CellComparison comparison;
  };
  std::vector<Open> open;  ///< best and runner-up that were compared and not called different
};
[[nodiscard]] HowSure how_sure(std::span<const Record> rows);

/// Each pair of `open` in a sentence: how many launches would settle it.
[[nodiscard]] std::vector<std::string> open_comparisons(const HowSure& sure);

/// It in sentences. `machine`: what `assay doctor` said before the run.
[[nodiscard]] std::vector<std::string> how_sure_lines(std::span<const Record> rows,
                                                      const std::optional<MachineScore>& machine);

/// A number for a sentence: significant() of base.
[[nodiscard]] std::string in_words(double value, int digits = 3);

/// Sentences drawn from the numbers, most useful first: which runtime for which model, and how sure we are.
[[nodiscard]] std::vector<std::string> recommendations(std::span<const Record> rows);

/// Those that are not about latency: throughput and memory.
[[nodiscard]] std::vector<std::string> further_recommendations(std::span<const Record> rows);

/// Files that sentences point to.
struct ReportedFiles {
  std::map<std::string, std::filesystem::path> logs;  ///< the workers' log files; the key is the attempt_id
  std::filesystem::path matrix;                       ///< hardware_compatibility_matrix.json; empty: it is not written
};

/// What to do about what is wrong, missing or weak, the most urgent first; each names a command or a file if one helps.
enum class Steps {
  kAll,
  kBeyondFailures,  ///< no steps for cells that are wrong, failed, unavailable or skipped (failures_of())
};
[[nodiscard]] std::vector<std::string> next_steps(std::span<const Record> rows, const ReportedFiles& files = {},
                                                  Steps steps = Steps::kAll);

}  // namespace assay
