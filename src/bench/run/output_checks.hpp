// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/run/local_task.hpp"
#include "bench/run/reference.hpp"
#include "bench/run/timed_ids.hpp"
#include "bench/verify/verify.hpp"
#include "bench/worker/worker.hpp"
#include "core/base/json.hpp"
#include "core/result/record.hpp"

namespace assay {

/// Files with the outputs of some input sets of a cell.
struct OutputsOfSets {
  std::vector<std::size_t> sets;
  std::vector<std::filesystem::path> files;  ///< one for each set
  std::optional<std::size_t> worst{};        ///< the set with the largest error, once they were compared
};

/// Compares outputs of a cell with others of the same sets, `expected`: judge() with the masks of the task's inputs and
/// the honest error of its reference. `row` says what precision the runtime computes in. `others`: the reference's of
/// sets that were not computed. Errors: those of judge().
[[nodiscard]] Result<Verdict> judge_sets(const Task& task, const Record& row, const Reference& reference,
                                         const std::vector<std::filesystem::path>& expected,
                                         const OutputsOfSets& computed, const OutputsOfSets& others = {});

/// Compares the outputs of a cell with those of its reference and writes the verdict into the row. Used by one attempt,
/// whose worker has the inputs bound. Lifetime: what is given outlives the object. Thread: one at a time.
class OutputChecks {
 public:
  /// `scratch`: a folder for outputs.
  OutputChecks(const LocalTask& local, Record& row, const Reference& reference, std::filesystem::path scratch)
      : task_(local.task),
        later_(std::ranges::any_of(local.launches, [](const Launch& launch) { return !launch.row.checked.empty(); })),
        row_(row),
        reference_(reference),
        scratch_(std::move(scratch)) {}

  /// Runs each input set once and compares, if the task is verified; else it runs one set. If a run takes long, each
  /// later launch of a cell runs only one set, another one each time. Sets first_inference_ms and `checked`. Errors:
  /// those of the worker and of judge().
  [[nodiscard]] Status before(Worker& worker, const Deadline& deadline);

  /// Whether outputs differ from the reference's by so little that the reference may be the one that errs, and other
  /// engines have not been asked yet: then decide() is needed. A row whose first outputs are disputed is unverified
  /// until then. Never of models that are quantised or compute in float64, and of outputs that came with the model,
  /// which say what it should compute.
  [[nodiscard]] bool is_disputed() const { return disputed_ || !undecided_after_sampling_.empty(); }
  /// Judges what is_disputed() by what other engines computed: by float64 if it could be computed, else nobody decides.
  /// Then compares the token ids that after() left. Errors: those of judge() and TimedIdsCheck::compare().
  [[nodiscard]] Status decide(const std::vector<Opinion>& opinions);

  /// After sampling, if the outputs were right before or are disputed: the same sets once more in every stream (one of
  /// them if a run takes long, and for a model that generates; none if the cell's time ends), and the token ids of the
  /// timed generations, until they leave those of the reference; of disputed outputs decide() compares these. A
  /// difference is `wrong`. `measured` is the reply to a request that named tokens_file().
  [[nodiscard]] Status after(Worker& worker, const MeasureReply& measured, const Deadline& deadline);
  /// Whether after() left token ids to check_forced(), which needs no worker.
  [[nodiscard]] bool expects_forced() const { return ids_ && ids_->expects_force(); }
  /// Compares the token ids that left those of the reference: force_ids() and set_ids(). Errors: those of force_ids().
  [[nodiscard]] Status check_forced(const ForceIds& force);
  /// Where measure() writes the token ids.
  [[nodiscard]] std::filesystem::path tokens_file() const { return scratch_ / "tokens.safetensors"; }

  /// Identifies the outputs, for the bundle; null: there are none.
  [[nodiscard]] const Json& fingerprint() const { return fingerprint_; }
  /// The outputs that before() compared; no files if it compared none, or after() found others.
  [[nodiscard]] const OutputsOfSets& compared() const { return compared_; }

 private:
  [[nodiscard]] Result<OutputsOfSets> compute(Worker& worker, const std::vector<std::size_t>& sets, int stream,
                                              const std::string& name, const Deadline& deadline);
  struct Judged {
    Verdict verdict;
    /// Outputs that differ more than this from the reference's, in any element, are wrong; nullopt: no limit is known.
    std::optional<double> allowed_difference{};
  };
  struct AfterSampling {
    int stream = 0;
    OutputsOfSets outputs;
  };
  /// Compared with the reference and, if the outputs may be disputed and there are opinions, by these.
  [[nodiscard]] Result<Judged> judged(const OutputsOfSets& computed, const std::vector<Opinion>* opinions) const;
  [[nodiscard]] Result<Verdict> judge_with(const Reference& reference, const OutputsOfSets& computed) const;
  [[nodiscard]] Result<Judged> by_opinions(Verdict verdict, const OutputsOfSets& computed,
                                           const std::vector<Opinion>& opinions) const;
  /// The verdict by exact outputs; nullopt: the reference is far from them, so that they decide nothing.
  [[nodiscard]] Result<std::optional<Judged>> by_exact(const Opinion& exact, const OutputsOfSets& computed) const;
  [[nodiscard]] bool may_dispute(const Verdict& verdict) const;
  [[nodiscard]] const std::vector<Opinion>* known_opinions() const;
  [[nodiscard]] Status check_again(Worker& worker, const Deadline& deadline);
  [[nodiscard]] Status check_timed_tokens();
  [[nodiscard]] std::size_t first_set() const;
  void set_fingerprint(const OutputsOfSets& computed);
  void set_compared(const Judged& judged);
  void set_verdict(const Verdict& verdict);
  void set_wrong(const std::string& message);
  void set_again(const Verdict& verdict, int stream);
  [[nodiscard]] bool is_right() const;
  void set_checked();
  void set_ids_checked();
  [[nodiscard]] bool is_slow() const;
  [[nodiscard]] bool has_time(const Deadline& deadline) const;

  const Task& task_;
  bool later_;  ///< an earlier launch of the cell was compared
  Record& row_;
  const Reference& reference_;
  std::filesystem::path scratch_;
  Json fingerprint_;
  OutputsOfSets compared_;
  /// The verdict on what before() compared, if it is disputed and decide() has not been called.
  std::optional<Verdict> disputed_;
  /// Outputs after sampling that wait for decide().
  std::vector<AfterSampling> undecided_after_sampling_;
  std::optional<double> allowed_difference_;
  std::optional<TimedIdsCheck> ids_;
  std::int64_t generations_ = 0;
  bool limit_decides_ = true;  ///< Verdict::limit_decides of the row's verdict
};

}  // namespace assay
