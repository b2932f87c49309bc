// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/output_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/verify/errors.hpp"
#include "bench/verify/limits.hpp"
#include "bench/verify/near_ties.hpp"
#include "bench/verify/proof.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

// The largest logits of a quantised model that may be other ones whatever honest runs change: near ties.
constexpr double kTop1MayDiffer = 0.1;
// Correlation of fewer elements says nothing.
constexpr std::int64_t kLeastToCorrelate = 8;

bool is_logits(std::string_view output) { return output.find("logits") != std::string_view::npos; }

// Judges one output over all sets.
class OutputJudge {
 public:
  OutputJudge(std::string name, const VerifyOptions& options, const std::optional<Tolerance>& tolerance,
              const JudgedFiles& files, JudgeMode mode)
      : options_(options), tolerance_(tolerance), files_(files), mode_(mode) {
    verdict_.name = std::move(name);
    if (options_.honest) honest_ = options_.honest->find(verdict_.name);
    arithmetic_ = arithmetic_of(options_, honest_);
  }

  Result<OutputVerdict> run(const Floor& floor) {
    ASSAY_TRY(const bool comparable, compare_sets());
    if (!comparable) return verdict_;
    if (verdict_.comparison.elements == 0) return conclude(Verification::kDegenerate, "has no elements to compare");
    std::optional<std::string> degenerate;
    if (mode_ == JudgeMode::kReference) {
      ASSAY_TRY(degenerate, why_degenerate(verdict_.name, counted_, files_, options_, sets_));
    }
    Status judged{};
    if (tolerance_)
      apply_tolerance();
    else if (counted_)
      judged = judge_integers();
    else
      apply_limits(floor);
    if (!judged) return tl::unexpected<Error>(judged.error());
    if (std::isinf(verdict_.comparison.max_abs_error)) return conclude(Verification::kWrong, not_a_number());
    if (degenerate) return conclude(Verification::kDegenerate, *degenerate);
    if (!(verdict_.ratio <= 1.0)) return conclude(Verification::kWrong, beyond_);
    if (mode_ == JudgeMode::kReference && honest_ != nullptr && !tolerance_) {
      if (const auto why = why_ill_conditioned(*honest_, counted_, errors_, scale_))
        return conclude(Verification::kIllConditioned, *why);
    }
    if (unverified_) return conclude(Verification::kUnverified, *unverified_);
    verdict_.verification = Verification::kVerified;
    return verdict_;
  }

 private:
  OutputVerdict conclude(Verification verification, std::string message) {
    verdict_.verification = verification;
    verdict_.message = fmt::format("output '{}': {}", sanitise(verdict_.name), message);
    return verdict_;
  }

  std::optional<TensorView> mask(std::size_t set, const Shape& shape) const {
    return mask_of(options_.inputs, set, verdict_.name, shape);
  }

  // Candidate against reference: shape, dtype, then the numbers of every set. False: already wrong.
  Result<bool> compare_sets() {
    ErrorScan scan;
    for (std::size_t set = 0; set < files_.reference.size(); ++set) {
      ASSAY_TRY(const TensorView expected, files_.reference[set].tensor(verdict_.name));
      if (!files_.candidate[set].contains(verdict_.name)) return wrong("is missing");
      ASSAY_TRY(const TensorView actual, files_.candidate[set].tensor(verdict_.name));
      if (actual.shape != expected.shape)
        return wrong(fmt::format("has the shape {}, not {}", to_string(actual.shape), to_string(expected.shape)));
      const bool lowered =
          mode_ == JudgeMode::kReference && is_floating(expected.dtype) && actual.dtype == options_.precision;
      if (actual.dtype != expected.dtype && !lowered)
        return wrong(fmt::format("is {}, not {}", to_string(actual.dtype), to_string(expected.dtype)));
      counted_ = is_counted(expected.dtype);
      Tensor wide_expected, wide_actual;
      ASSAY_TRY(const TensorView r, widened(expected, wide_expected));
      ASSAY_TRY(const TensorView c, widened(actual, wide_actual));
      ASSAY_TRY(const Comparison found, compare(r, c, tolerance_.value_or(Tolerance{}), mask(set, r.shape)));
      sets_.push_back(found);
      if (r.dtype == DType::kFloat32 || r.dtype == DType::kFloat64) scan.add(r, c, mask(set, r.shape));
    }
    ASSAY_CHECK_OK(add_others(scan));
    const auto better = [&](const Comparison& a, const Comparison& b) {
      if (tolerance_) return a.worst_ratio < b.worst_ratio;
      return counted_ ? a.agreement > b.agreement : a.max_abs_error < b.max_abs_error;
    };
    const auto worst = std::max_element(sets_.begin(), sets_.end(), better);
    verdict_.comparison = *worst;
    verdict_.set = number_of(static_cast<std::size_t>(worst - sets_.begin()));
    verdict_.element = worst->worst_index;
    errors_ = scan.finish();
    scale_ = errors_.reference_rms > 0.0 ? errors_.reference_rms : 1.0;
    if (errors_.elements > 0) {
      verdict_.rms_error = errors_.rms / scale_;
      verdict_.row_error = errors_.row / scale_;
      verdict_.element_error = errors_.element / scale_;
    }
    if (is_logits(verdict_.name)) verdict_.top1 = errors_.top1;
    return true;
  }

  // Sets that were not computed.
  Status add_others(ErrorScan& scan) const {
    for (std::size_t i = 0; i < files_.others.size(); ++i) {
      ASSAY_TRY(const TensorView expected, files_.others[i].tensor(verdict_.name));
      if (!is_floating(expected.dtype)) continue;
      Tensor wide;
      ASSAY_TRY(const TensorView r, widened(expected, wide));
      if (r.dtype == DType::kFloat32 || r.dtype == DType::kFloat64)
        scan.add_reference(r, mask(files_.reference.size() + i, r.shape));
    }
    return {};
  }

  bool wrong(std::string message) {
    verdict_.ratio = std::numeric_limits<double>::infinity();
    conclude(Verification::kWrong, std::move(message));
    return false;
  }

  [[nodiscard]] std::size_t number_of(std::size_t file) const {
    return file < options_.sets.size() ? options_.sets[file] : file;
  }

  [[nodiscard]] std::string place(std::size_t set, std::int64_t index) const {
    if (files_.number_of_sets() == 1 && set == 0) return fmt::format("element {}", index);
    return fmt::format("element {} of input set {}", index, set);
  }

  void apply_tolerance() {
    const Comparison& c = verdict_.comparison;
    verdict_.limit = tolerance_->absolute + tolerance_->relative * std::abs(c.worst_reference);
    verdict_.error = std::abs(c.worst_candidate - c.worst_reference);
    verdict_.ratio = c.worst_ratio;
    beyond_ = fmt::format("{} is {:.6g} instead of {:.6g}; its error {:.3g} is {:.3g} times the limit {:.3g}",
                          place(verdict_.set, c.worst_index), c.worst_candidate, c.worst_reference, verdict_.error,
                          verdict_.ratio, verdict_.limit);
  }

  // The criterion with the largest error / limit decides, and is the message.
  void consider(double error, double limit, const std::string& message) {
    const double ratio = error == 0.0 ? 0.0 : error / limit;
    if (ratio <= verdict_.ratio) return;
    verdict_.ratio = ratio;
    beyond_ = message;
  }
  // Neither right nor wrong: what is known of the honest error does not decide.
  void set_undecided(const Limits& right, const Limits& wrong) {
    const OutputErrors& e = errors_;
    const auto share = [&](const char* what, double error, double lower, double upper) {
      return fmt::format(
          "the error{} is {:.3g} of the output, more than the {:.3g} that are certainly right and less "
          "than the {:.3g} that are certainly wrong, and the error of honest arithmetic is not known",
          what, error, lower, upper);
    };
    verdict_.undecided = true;
    if (e.rms > right.rms * scale_)
      unverified_ = share("'s root mean square", e.rms / scale_, right.rms, wrong.rms);
    else if (e.row > right.row * scale_)
      unverified_ = share("'s root mean square in the worst row", e.row / scale_, right.row, wrong.row);
    else
      unverified_ = share(" of the worst element", e.element / scale_, right.element, wrong.element);
  }

  void apply_limits(const Floor& floor) {
    const HonestOutput honest = honest_ == nullptr ? HonestOutput{} : *honest_;
    const auto [right, wrong] = bounds_of(floor, honest, arithmetic_, options_);
    const OutputErrors& e = errors_;
    const bool undecided =
        e.rms > right.rms * scale_ || e.row > right.row * scale_ || e.element > right.element * scale_;
    if (undecided) set_undecided(right, wrong);
    // What is right is held to the limits that show it: others may depend on them.
    const auto [rms_limit, row_limit, element_limit] = undecided ? wrong : right;
    verdict_.limit_decides = arithmetic_.known || !arithmetic_.narrow;
    verdict_.rms_limit = rms_limit;
    if (honest_ != nullptr) verdict_.honest = honest.rms;
    verdict_.error = e.element;
    verdict_.limit = element_limit * scale_;
    verdict_.set = number_of(e.set);
    verdict_.element = e.index;
    const std::string largest =
        fmt::format("{} is {:.6g} instead of {:.6g}", place(verdict_.set, e.index), e.actual, e.expected);
    const auto share = [&](const char* what, double error, double limit) {
      return fmt::format("the error's root mean square{} is {:.3g} of the output's, {:.3g} times the limit {:.3g}; {}",
                         what, error, error / limit, limit, largest);
    };
    consider(e.rms / scale_, rms_limit, share("", e.rms / scale_, rms_limit));
    consider(e.row / scale_, row_limit, share(" in the worst row", e.row / scale_, row_limit));
    consider(e.element / scale_, element_limit,
             fmt::format("{}; its error {:.3g} is {:.3g} times the limit {:.3g}", largest, e.element,
                         e.element / verdict_.limit, verdict_.limit));
    if (options_.quantised && arithmetic_.known && verdict_.top1 && e.top1_rows >= kIntegersForOne) {
      const double differ = 1.0 - *verdict_.top1;
      const double may = std::max(kHonestFactor * (1.0 - honest.top1), kTop1MayDiffer);
      consider(differ, may,
               fmt::format("{:.3g} % of the largest logits are other ones, {:.3g} % may", 100 * differ, 100 * may));
    }
    if (honest_ != nullptr && options_.honest->runs > 1 && honest.correlation > kHonestCorrelation &&
        e.elements >= kLeastToCorrelate && e.reference_deviation > 0.0 && e.correlation < kLeastCorrelation) {
      verdict_.ratio = std::max(verdict_.ratio, 2.0);
      verdict_.uncorrelated = true;
      beyond_ = fmt::format("correlates with the reference by {:.2g}, where honest runs correlate by {:.2g}; {}",
                            e.correlation, honest.correlation, largest);
    }
  }

  // Integers have no distance: the share that differs counts. A near tie is allowed if the logits are known.
  Status judge_integers() {
    std::int64_t elements = 0, differ = 0;
    for (const Comparison& c : sets_) {
      elements += c.elements;
      differ += c.exceeding;
    }
    const auto n = static_cast<double>(elements);
    const double changed = honest_ == nullptr ? 0.0 : honest_->changed;
    verdict_.error = static_cast<double>(differ) / n;
    verdict_.limit = std::max(kIntegersMayDiffer, kHonestFactor * changed);
    if (elements >= kIntegersForOne) verdict_.limit = std::max(verdict_.limit, 1.0 / n);
    const double ratio = verdict_.error / verdict_.limit;
    const bool lone = elements == static_cast<std::int64_t>(sets_.size());
    beyond_ = fmt::format("{:.3g} % of {} elements differ, {:.3g} % may", 100 * verdict_.error, elements,
                          100 * verdict_.limit);
    if (lone) unverified_ = "a single integer proves nothing";
    if (ratio <= 1.0) {
      verdict_.ratio = ratio;
      return {};
    }
    ASSAY_TRY(const std::optional<bool> ties, are_near_ties(verdict_.name, files_));
    if (ties && *ties) {
      verdict_.ratio = 1.0;
    } else if (!ties && (lone || differ == 1)) {
      verdict_.ratio = 1.0;
      unverified_ =
          fmt::format("one of {} integers differs: too few to distinguish a near tie from an error", elements);
      if (lone) unverified_ = "a single integer differs, which may be a near tie";
    } else if (!ties && arithmetic_.narrow && !arithmetic_.known && verdict_.error <= kUnknownIntegers) {
      verdict_.ratio = 1.0;
      verdict_.undecided = true;
      unverified_ = fmt::format("{:.3g} % of {} integers differ, and the error of honest arithmetic is not known",
                                100 * verdict_.error, elements);
    } else {
      verdict_.ratio = ratio;
    }
    return {};
  }

  std::string not_a_number() const {
    const Comparison& c = verdict_.comparison;
    return fmt::format("{} NaN and {} infinite elements, the reference has {} and {} (of {})", c.nan_candidate,
                       c.inf_candidate, c.nan_reference, c.inf_reference, c.elements);
  }

  const VerifyOptions& options_;
  const std::optional<Tolerance>& tolerance_;  ///< the limits of a golden; they replace the computed limits
  const JudgedFiles& files_;
  JudgeMode mode_;
  OutputVerdict verdict_;
  const HonestOutput* honest_ = nullptr;
  std::vector<Comparison> sets_;
  OutputErrors errors_;
  std::optional<std::string> unverified_;
  std::string beyond_;
  double scale_ = 1.0;
  bool counted_ = false;
  Arithmetic arithmetic_;
};

}  // namespace

Result<OutputVerdict> judge_output(const std::string& name, const Floor& floor, const VerifyOptions& options,
                                   const std::optional<Tolerance>& tolerance, const JudgedFiles& files,
                                   JudgeMode mode) {
  return OutputJudge(name, options, tolerance, files, mode).run(floor);
}

}  // namespace assay
