// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/record.hpp"
#include "core/result/run_info.hpp"
#include "history/analyse/analyse.hpp"
#include "history/analyse/compare.hpp"

namespace assay {

struct Dataset;
struct HistoryPoint;

/// The answers that terminal, reports, charts and dashboard print: computed once, so that all say the same.
///
/// Rows of different machines are never compared: where a dataset has several machines, each answer is given for each
/// of them: `hardware_id` says of which; `machine` is what people call it, by its host, and "" with one machine.
/// `model` is a name that stands for one model (with_names_of_models). Pointers to rows point into Dataset::cells.

/// What to choose hardware by.
enum class Goal { kLatency, kThroughput, kMemory, kEfficiency };
[[nodiscard]] std::string_view to_string(Goal goal);
[[nodiscard]] std::optional<Goal> goal_from(std::string_view name);

/// The row that is best, and by how much.
struct Best {
  const Record* row = nullptr;
  /// The best row of another target that `row` is not called faster than; if it is called faster than all of them, the
  /// best of them. null: no other target has a ranked row.
  const Record* runner_up = nullptr;
  /// The two with each other: `row` is the baseline, so the ratio is how many times as fast it is. With none to
  /// compare with, its evidence says nothing.
  CellComparison ahead;
  /// By how much: "2.00× as fast as cpu (95 %: 1.95 to 2.05)", "no difference shown with cpu (± 6 %)",
  /// "not compared with cpu: one process each", "the only verified choice here", "no other target was measured".
  std::string words;
  std::size_t of = 0;  ///< the rows that it is the best of, itself included
};

/// "openvino", or "openvino or cpu": the runner-up follows unless a difference to it is shown.
[[nodiscard]] std::string targets_words(const Best& best);

/// How many cells have which state. A cell counts once.
struct StateCounts {
  std::size_t verified = 0, unverified = 0, wrong = 0, failed = 0, unsupported = 0, unavailable = 0, skipped = 0;
  [[nodiscard]] std::size_t total() const;
};
/// `unverified` includes degenerate and ill-conditioned cells.
void count_state(StateCounts& counts, const Record& row);
/// "12 verified, 1 wrong, 2 failed": what is not zero, in this order.
[[nodiscard]] std::string state_words(const StateCounts& counts);

/// One model: which runtime to use, and how sure that is.
struct ModelLine {
  std::string model, machine, hardware_id;
  std::string model_id, size, family, category, architecture;
  std::optional<Best> latency;           ///< the best row at the cell that most targets have (representatives())
  std::optional<Best> throughput;        ///< the best row over all batches, with the precision and lengths of `latency`
  const Record* least_memory = nullptr;  ///< the row with the least memory at the cell of `latency`
  StateCounts states;
  /// Reason if `latency` is absent: "too disturbed or too uncertain to be ranked", "skipped (not_built)".
  std::string why_none;
};

/// One cause of failed, wrong, unsupported, unavailable or skipped cells, with all of its cells.
struct Failure {
  CellStatus status = CellStatus::kFailed;
  Word<Reason> reason_code;
  std::string cause;  ///< one message in full
  std::string hint;   ///< "" if there is none
  std::vector<const Record*> cells;
  std::vector<std::string> where;  ///< "bert on openvino: batch_8_seq_128", "t5 on cpu", folded: one text for each pair
};

/// What is different from an earlier result of the same series; or of the series of one target that share a reason.
struct Change {
  /// kGone: what worked cannot be tried any more (its hardware or runtime is not available, or assay skips it as too
  /// large or not built). kFixed: it works again. kNew: there was no result before. kNotComparable: a time that cannot
  /// be compared with the one before. kMoved: a time, a throughput or a peak of memory.
  enum class What { kNewlyWrong, kNewlyFailed, kGone, kFixed, kMoved, kNew, kNotComparable, kVersion };
  What what = What::kMoved;
  std::string series;               ///< series key of `row`
  const Record* row = nullptr;      ///< the cell, or the first of several
  std::vector<const Record*> rows;  ///< all cells
  /// A sentence that begins with the cell: "bert on cpu, batch 1, 128 tokens: 8.00 → 8.90 ms …", or with the target:
  /// "cuda: not available since 2026-03-08, …".
  std::string words;
  /// Set for kMoved: the column of the results that differs, such as "memory_mb", and its unit, such as "MB".
  std::string quantity, unit;
  Number before, after;        ///< values in that unit
  Number ratio;                ///< `after` / `before`
  bool beyond_spread = false;  ///< a move that is larger than what earlier runs of the series differ by
};
[[nodiscard]] std::string_view to_string(Change::What what);

/// The best hardware for an architecture under a goal.
struct Choice {
  std::string architecture, category, machine;
  std::string best, runner_up;        ///< targets; "": none. The runner-up is chosen as in Best
  Number value, runner_up_value;      ///< geometric means over the compared cells, in the unit of the goal
  CellComparison ahead;               ///< comparison of the two, as in Best
  std::size_t cells = 0;              ///< compared cells of the two
  std::vector<const Record*> rows;    ///< rows of the best target
  std::string words;                  ///< the answer in a sentence
  std::string how_sure;               ///< "3 rounds, 4 cells", "one process each"
  std::vector<std::string> left_out;  ///< targets without a comparable cell, and why: "cuda: unavailable (no_runtime)"
  std::string hardware_id{};
};

/// What could be gained, with a number and a cell.
struct Opportunity {
  enum class Kind { kRuntime, kBatch, kPrecision, kThreads, kMemory, kEfficiency };
  Kind kind = Kind::kRuntime;
  const Record* cell = nullptr;             ///< the cell that could be improved
  const Record* better = nullptr;           ///< the cell that shows it; null: none was measured
  double factor = 1;                        ///< the possible improvement as a ratio, in the unit of the kind
  std::optional<stats::Interval> interval;  ///< 95 %, of the factor
  bool claimed = false;                     ///< shown by paired rounds; else the words say what it rests on
  std::string machine, words;
  std::string hardware_id{};
};
[[nodiscard]] std::string_view to_string(Opportunity::Kind kind);

/// How much of the measured peak is reached: geometric mean over the cells of the category and precision that all
/// targets have, but for those without such cells.
struct Efficiency {
  std::string machine, target, category, precision;
  double share = 0;  ///< 0.4: 40 % of the peak
  std::size_t cells = 0;
  bool counted_whole = true;  ///< true: at least 95 % of the operators of each cell were counted
  std::string peak_of;        ///< "openvino 2026.4.1, 2 threads, 2026-03-02: 100 GFLOP/s"
  std::string hardware_id{};
};

/// How the targets compare over the models of a category, or of an architecture: geometric means over the cells that
/// all compared targets have.
struct CategoryLine {
  std::string category, architecture, machine;  ///< architecture: "" for a line of a whole category
  std::size_t cells = 0;                        ///< number of cells in the geometric means
  std::size_t models = 0;                       ///< number of models that have those cells
  struct Target {
    std::string target;
    Number latency_ms;       ///< geometric mean over those cells; absent: it has none of them
    CellComparison against;  ///< the ratio is how many times as fast as `baseline` it is
  };
  std::string baseline;  ///< "cpu" if it is among them, else the first; "": one target alone, nothing is compared
  std::vector<Target> targets;  ///< those that are compared first
  std::string hardware_id;
  std::string best;  ///< the target that is called faster than each other one with these cells; "": none is
};

/// The times that changes are looked for in, in days.
constexpr int kWeek = 7, kMonth = 30;
constexpr double kSecondsOfDay = 86400;

struct Analysis {
  Goal goal = Goal::kLatency;
  std::size_t machines = 0;
  std::vector<ModelLine> models;
  std::vector<Failure> failures;  ///< wrong first, then failed, unsupported, skipped, unavailable
  StateCounts states;             ///< counts of all cells
  HowSure sure;
  std::vector<Change> since_last_run, since_a_week, since_a_month;
  std::vector<Choice> choices;
  std::vector<Opportunity> opportunities;  ///< the largest first
  std::string no_opportunity;              ///< a sentence that says why there is none; "" if there is one
  std::vector<Efficiency> efficiency;
  std::vector<std::string>
      efficiency_missing;  ///< why there is none or more than 100 %, and what to run; a sentence each
  std::vector<CategoryLine> categories, architectures;
};

/// Lifetime: the analysis points into `data`. Cost: below a second for 2,000 cells.
[[nodiscard]] Analysis analyse(const Dataset& data, Goal goal = Goal::kLatency);

/// How quiet the machine was before the run of the newest cell; absent if nobody looked.
[[nodiscard]] std::optional<MachineScore> machine_score(const Dataset& data);

/// What disturbed results of a history. The points that it is asked about are those of the same dataset.
class Disturbances {
 public:
  explicit Disturbances(const Dataset& data);
  /// "score 38 of 100 (load, spin_test)", if that was the score of the machine before its run and timings are not
  /// reliable then (kUnreliableScore or less); "noisy", if other activity disturbed the result itself; both; else "".
  [[nodiscard]] std::string words(const HistoryPoint& point) const;

 private:
  std::vector<std::string> of_runs_;
};

/// The same lines for the rows of one run, as the terminal prints them. `rows` outlive the result.
[[nodiscard]] std::vector<ModelLine> model_lines(std::span<const Record> rows);
[[nodiscard]] std::vector<Failure> failures_of(std::span<const Record> rows);

}  // namespace assay
