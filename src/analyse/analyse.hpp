// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "result/record.hpp"

namespace assay {

/// Comparisons of rows. Only rows that are `ranked()` are compared, and only rows of equal model (by its identity),
/// shape, precision, streams and contract with each other.

/// "batch_1_seq_128", "batch_8_float16": the shape's key in the guide's JSON (docs/formats.md). Cells of one model on
/// one target have different keys.
[[nodiscard]] std::string shape_key(const Record& row);

/// Whether an interruption left the cell without a result, or with a part of it: --resume runs such cells.
[[nodiscard]] bool unfinished(const Record& row);

/// The rows; a name that stands for several models is followed by the model id: "bert
/// (bert-base-uncased)". Everything here compares models by `model`.
[[nodiscard]] std::vector<Record> with_distinct_names(std::vector<Record> rows);

/// The guide's key of the row's target: "cpu", "cpu@openvino".
[[nodiscard]] std::string target_key(const Record& row);

/// Identifies a model independently of its name: its configuration (a file's graph), weights, class and KV cache. Empty
/// where nothing is known of it, as of one that could not be prepared.
[[nodiscard]] std::string model_identity(const Record& row);

/// Models in order of first appearance; likewise families and targets.
[[nodiscard]] std::vector<std::string> models_of(std::span<const Record> rows);
[[nodiscard]] std::vector<std::string> families_of(std::span<const Record> rows);
[[nodiscard]] std::vector<std::string> targets_of(std::span<const Record> rows);

/// A model's ranked row on a target with the smallest batch, then the shortest sequence; null if there is no such row.
[[nodiscard]] const Record* representative(std::span<const Record> rows, const std::string& model,
                                           const std::string& target);

/// The rows that stand for a model in a one-number table, one for each target: all of one cell (comparable()), that
/// which most targets have, of several the one with the smallest batch, then the shortest sequence.
[[nodiscard]] std::vector<const Record*> representatives(std::span<const Record> rows, const std::string& model);

/// The ranked row with the highest throughput of a model on a target, of the precision and the lengths that `like` has;
/// null when there is none.
[[nodiscard]] const Record* best_throughput(std::span<const Record> rows, const std::string& model,
                                            const std::string& target, const Record& like);

/// How many times faster than the default engine on the CPU: geometric mean of the ratios of median latencies over the
/// shapes that both have. Fleming, Wallace: "How not to lie with statistics", CACM 1986, for the geometric mean.
struct Speedup {
  std::string target;
  double factor = 1.0;
  std::size_t pairs = 0;  ///< cells that were compared
};
[[nodiscard]] std::vector<Speedup> speedups_against_cpu(std::span<const Record> rows);

/// "high", "medium-high", "medium" or "low": how many times slower than the fastest target on the same cells, as a
/// geometric mean over the cells that another target has too: at most 1.5, 4, 10, more. The only target there is is the
/// fastest known, unless others are unfinished(). nullopt when the target has no ranked row, when it computed wrong
/// numbers in one of these, or when nothing is known to compare it with.
[[nodiscard]] std::optional<std::string> performance_rating(std::span<const Record> rows, const std::string& target);

/// Whether two rows are of the same cell but for their target: model, shape, precision as asked and as it really was,
/// contract. Only such rows are compared.
[[nodiscard]] bool comparable(const Record& a, const Record& b);

/// Whether the 95 % intervals of two medians are disjoint, so that a difference may be claimed.
[[nodiscard]] bool differ(const Record& a, const Record& b);

/// A number for a sentence: that many significant digits, never with an exponent ("10400").
[[nodiscard]] std::string in_words(double value, int digits = 3);

/// Sentences drawn from the numbers, most useful first: which runtime for which model, and how sure we are.
[[nodiscard]] std::vector<std::string> recommendations(std::span<const Record> rows);

/// Files that sentences point to.
struct ReportedFiles {
  std::map<std::string, std::filesystem::path> logs;  ///< of workers, by attempt_id
  std::filesystem::path matrix;                       ///< hardware_compatibility_matrix.json; empty: it is not written
};

/// What to do about what is wrong, missing or weak, the most urgent first; each names a command or a file if one helps.
[[nodiscard]] std::vector<std::string> next_steps(std::span<const Record> rows, const ReportedFiles& files = {});

}  // namespace assay
