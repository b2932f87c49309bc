// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/text.hpp"
#include "verify/errors.hpp"
#include "verify/verify.hpp"

namespace assay {
namespace {

// What counts as equal in a reference, whose arithmetic is float32.
constexpr double kEqual = 1e-5;
constexpr std::array<Floor, 5> kFloors{{{DType::kFloat64, 1e-14, 1e-13},
                                        {DType::kFloat32, 2e-6, 1e-5},
                                        {DType::kFloat16, 5e-4, 2e-3},
                                        {DType::kBFloat16, 4e-3, 1.6e-2},
                                        {DType::kInt8, 1e-3, 5e-3}}};
// A row is a part of the output: its least limit is larger than that of the whole.
constexpr double kRowFloor = 2.0;
// The largest logits of a quantised model that may be other ones whatever honest runs change: near ties.
constexpr double kTop1MayDiffer = 0.1;
// Correlation of fewer elements says nothing.
constexpr std::int64_t kLeastToCorrelate = 8;

// All that is judged at once: files by set, opened.
struct Evidence {
  OpenFiles reference, candidate, others;
  std::map<std::string, double> element_limits{};  ///< of the float outputs that were judged
};

bool is_logits(std::string_view output) { return output.find("logits") != std::string_view::npos; }

// A golden is compared and nothing else; any other reference is first asked whether it proves anything.
enum class Mode { kGolden, kReference };

// Judges one output over all sets.
class OutputJudge {
 public:
  OutputJudge(std::string name, const VerifyOptions& options, const std::optional<Tolerance>& tolerance,
              const Evidence& evidence, Mode mode)
      : options_(options), tolerance_(tolerance), evidence_(evidence), mode_(mode) {
    verdict_.name = std::move(name);
    if (options_.honest) honest_ = options_.honest->find(verdict_.name);
    narrow_ = options_.quantised || bit_width(options_.precision) < 32;
    const std::string_view required = options_.quantised ? "quantised" : "rounded";
    known_ = honest_ != nullptr && (!narrow_ || options_.honest->method == required);
  }

  Result<OutputVerdict> run(const Floor& floor) {
    ASSAY_TRY(const bool comparable, compare_sets());
    if (!comparable) return verdict_;
    if (verdict_.comparison.elements == 0) return conclude(Verification::kDegenerate, "has no elements to compare");
    if (mode_ == Mode::kReference) ASSAY_CHECK_OK(find_degenerate());
    Status judged{};
    if (tolerance_)
      apply_tolerance();
    else if (counted_)
      judged = judge_integers();
    else
      apply_limits(floor);
    if (!judged) return tl::unexpected<Error>(judged.error());
    if (std::isinf(verdict_.comparison.max_abs_error)) return conclude(Verification::kWrong, not_a_number());
    if (degenerate_) return conclude(Verification::kDegenerate, *degenerate_);
    if (!(verdict_.ratio <= 1.0)) return conclude(Verification::kWrong, beyond_);
    if (mode_ == Mode::kReference) find_ill_conditioned();
    if (ill_conditioned_) return conclude(Verification::kIllConditioned, *ill_conditioned_);
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
    for (std::size_t set = 0; set < evidence_.reference.size(); ++set) {
      ASSAY_TRY(const TensorView expected, evidence_.reference[set].tensor(verdict_.name));
      if (!evidence_.candidate[set].contains(verdict_.name)) return wrong("is missing");
      ASSAY_TRY(const TensorView actual, evidence_.candidate[set].tensor(verdict_.name));
      if (actual.shape != expected.shape)
        return wrong(fmt::format("has the shape {}, not {}", to_string(actual.shape), to_string(expected.shape)));
      const bool lowered =
          mode_ == Mode::kReference && is_floating(expected.dtype) && actual.dtype == options_.precision;
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
    for (std::size_t i = 0; i < evidence_.others.size(); ++i) {
      ASSAY_TRY(const TensorView expected, evidence_.others[i].tensor(verdict_.name));
      if (!is_floating(expected.dtype)) continue;
      Tensor wide;
      ASSAY_TRY(const TensorView r, widened(expected, wide));
      if (r.dtype == DType::kFloat32 || r.dtype == DType::kFloat64)
        scan.add_reference(r, mask(evidence_.reference.size() + i, r.shape));
    }
    return {};
  }

  bool wrong(std::string message) {
    verdict_.ratio = std::numeric_limits<double>::infinity();
    conclude(Verification::kWrong, std::move(message));
    return false;
  }

  [[nodiscard]] std::size_t number_of_sets() const { return evidence_.reference.size() + evidence_.others.size(); }

  [[nodiscard]] std::size_t number_of(std::size_t file) const {
    return file < options_.sets.size() ? options_.sets[file] : file;
  }

  [[nodiscard]] std::string place(std::size_t set, std::int64_t index) const {
    if (number_of_sets() == 1 && set == 0) return fmt::format("element {}", index);
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

  /// Relative to the output's root mean square.
  struct Limits {
    double rms, row, element;
    [[nodiscard]] Limits or_more(const Limits& other) const {
      return {std::max(rms, other.rms), std::max(row, other.row), std::max(element, other.element)};
    }
  };

  // Within `right` an output is right, beyond `wrong` it is wrong. They differ if the honest error is not that of this
  // arithmetic.
  struct Bounds {
    Limits right, wrong;
  };
  [[nodiscard]] Bounds bounds(const Floor& floor, const HonestOutput& honest) const {
    const Limits from_honest{std::max(floor.rms, kHonestFactor * honest.rms),
                             std::max(floor.rms * kRowFloor, kHonestRowFactor * honest.row),
                             std::max(floor.element, kHonestElementFactor * honest.element)};
    const double rms = options_.quantised ? kUnknownQuantised : kUnknownHonest * floor.element;
    const Limits unknown = narrow_ ? Limits{rms, kUnknownRow * rms, kHonestElementFactor * rms} : Limits{rms, rms, rms};
    Bounds found{from_honest, from_honest};
    if (!known_ || (options_.given && !narrow_)) found.wrong = from_honest.or_more(unknown);
    if (!narrow_) found.right = found.wrong;
    return found;
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
    const auto [right, wrong] = bounds(floor, honest);
    const OutputErrors& e = errors_;
    const bool undecided =
        e.rms > right.rms * scale_ || e.row > right.row * scale_ || e.element > right.element * scale_;
    if (undecided) set_undecided(right, wrong);
    // What is right is held to the limits that show it: others may depend on them.
    const auto [rms_limit, row_limit, element_limit] = undecided ? wrong : right;
    verdict_.limit_decides = known_ || !narrow_;
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
    if (options_.quantised && known_ && verdict_.top1 && e.top1_rows >= kIntegersForOne) {
      const double differ = 1.0 - *verdict_.top1;
      const double may = std::max(kHonestFactor * (1.0 - honest.top1), kTop1MayDiffer);
      consider(differ, may,
               fmt::format("{:.3g} % of the largest logits are other ones, {:.3g} % may", 100 * differ, 100 * may));
    }
    if (honest_ != nullptr && options_.honest->runs > 1 && honest.correlation > kHonestCorrelation &&
        e.elements >= kLeastToCorrelate && e.reference_deviation > 0.0 && e.correlation < kLeastCorrelation) {
      verdict_.ratio = std::max(verdict_.ratio, 2.0);
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
    ASSAY_TRY(const std::optional<bool> ties, all_near_ties());
    if (ties && *ties) {
      verdict_.ratio = 1.0;
    } else if (!ties && (lone || differ == 1)) {
      verdict_.ratio = 1.0;
      unverified_ =
          fmt::format("one of {} integers differs: too few to distinguish a near tie from an error", elements);
      if (lone) unverified_ = "a single integer differs, which may be a near tie";
    } else if (!ties && narrow_ && !known_ && verdict_.error <= kUnknownIntegers) {
      verdict_.ratio = 1.0;
      verdict_.undecided = true;
      unverified_ = fmt::format("{:.3g} % of {} integers differ, and the error of honest arithmetic is not known",
                                100 * verdict_.error, elements);
    } else {
      verdict_.ratio = ratio;
    }
    return {};
  }

  // Whether each different element was as good a choice within the limit; nullopt: no output has the logits.
  Result<std::optional<bool>> all_near_ties() const {
    for (const auto& [name, limit] : evidence_.element_limits) {
      ASSAY_TRY(const std::optional<bool> ties, near_ties(name, limit));
      if (ties) return ties;
    }
    return std::optional<bool>();
  }

  // The same with one output as the logits; nullopt: its largest elements are not these integers.
  Result<std::optional<bool>> near_ties(const std::string& logits, double limit) const {
    bool ties = true;
    for (std::size_t set = 0; set < evidence_.reference.size(); ++set) {
      ASSAY_TRY(const TensorView expected, evidence_.reference[set].tensor(verdict_.name));
      ASSAY_TRY(const TensorView actual, evidence_.candidate[set].tensor(verdict_.name));
      ASSAY_TRY(const TensorView stored, evidence_.reference[set].tensor(logits));
      Tensor wide;
      ASSAY_TRY(const TensorView values, widened(stored, wide));
      if (values.shape.empty() || !is_integer(expected.dtype)) return std::optional<bool>();
      const std::int64_t width = values.shape.back();
      ASSAY_TRY(const std::int64_t rows, element_count(expected.shape));
      ASSAY_TRY(const std::int64_t all, element_count(values.shape));
      if (width < 2 || all != rows * width) return std::optional<bool>();
      std::int64_t explained = 0;
      for (std::int64_t row = 0; row < rows; ++row) {
        double best = element_as_double(values, row * width);
        for (std::int64_t i = 1; i < width; ++i) best = std::max(best, element_as_double(values, row * width + i));
        const auto at = [&](const TensorView& chosen) -> std::optional<double> {
          const double id = element_as_double(chosen, row);
          if (!(id >= 0) || id >= static_cast<double>(width)) return std::nullopt;
          return element_as_double(values, row * width + static_cast<std::int64_t>(id));
        };
        const auto right = at(expected), other = at(actual);
        explained += right && *right == best ? 1 : 0;
        if (element_as_double(expected, row) != element_as_double(actual, row))
          ties = ties && other && best - *other <= 2.0 * limit;
      }
      if (explained < rows) return std::optional<bool>();
    }
    return std::optional(ties);
  }

  // Whether honest arithmetic itself moves the output too far to prove anything.
  void find_ill_conditioned() {
    if (honest_ == nullptr || tolerance_) return;
    if (!honest_->same_shape) {
      ill_conditioned_ = "honest arithmetic gives it another shape";
      return;
    }
    // One element has no deviation; integers no scale: a tenth of them is a tenth.
    const double deviation = counted_                         ? 1.0
                             : errors_.reference_elements > 1 ? errors_.reference_deviation / scale_
                                                              : 1.0;
    const double moves = counted_ ? honest_->changed : honest_->moves;
    if (moves > kIllConditioned * deviation)
      ill_conditioned_ = fmt::format(
          "the error of honest arithmetic, {:.3g} of the output, is more than a tenth of its deviation, {:.3g}", moves,
          deviation);
  }

  // Whether the reference's output says anything. Its arithmetic is float32, whatever the candidate's.
  Status find_degenerate() {
    ASSAY_TRY(const bool constant, reference_is_constant());
    if (constant) {
      degenerate_ = "the reference is constant and proves nothing";
      return {};
    }
    if (number_of_sets() < 2) return {};
    const SafetensorsFile& another = evidence_.reference.size() > 1 ? evidence_.reference[1] : evidence_.others.front();
    ASSAY_TRY(const TensorView first, evidence_.reference[0].tensor(verdict_.name));
    ASSAY_TRY(const TensorView second, another.tensor(verdict_.name));
    if (first.shape != second.shape) return {};
    ASSAY_TRY(const Comparison change, compare(first, second, {}, mask(0, first.shape)));
    if (change.max_abs_error <= (counted_ ? 0.0 : kEqual * change.reference_rms))
      degenerate_ = "the reference does not change with its inputs and proves nothing";
    return {};
  }

  // In every set, also in those that were not computed.
  Result<bool> reference_is_constant() const {
    const auto constant = [&](const Comparison& c) {
      if (counted_) return number_of_sets() == 1 && c.reference_constant && c.elements > 1;
      const double range = c.reference_max - c.reference_min;
      return c.elements > 1 && range <= kEqual * std::max(std::abs(c.reference_max), std::abs(c.reference_min));
    };
    if (!std::all_of(sets_.begin(), sets_.end(), constant)) return false;
    for (std::size_t i = 0; i < evidence_.others.size(); ++i) {
      ASSAY_TRY(const TensorView view, evidence_.others[i].tensor(verdict_.name));
      Tensor wide;
      ASSAY_TRY(const TensorView r, widened(view, wide));
      ASSAY_TRY(const Comparison itself, compare(r, r, {}, mask(evidence_.reference.size() + i, r.shape)));
      if (!constant(itself)) return false;
    }
    return true;
  }

  std::string not_a_number() const {
    const Comparison& c = verdict_.comparison;
    return fmt::format("{} NaN and {} infinite elements, the reference has {} and {} (of {})", c.nan_candidate,
                       c.inf_candidate, c.nan_reference, c.inf_reference, c.elements);
  }

  const VerifyOptions& options_;
  const std::optional<Tolerance>& tolerance_;  ///< of a golden: replaces the limits
  const Evidence& evidence_;
  Mode mode_;
  OutputVerdict verdict_;
  const HonestOutput* honest_ = nullptr;
  std::vector<Comparison> sets_;
  OutputErrors errors_;
  std::optional<std::string> degenerate_, ill_conditioned_, unverified_;
  std::string beyond_;
  double scale_ = 1.0;
  bool counted_ = false;
  bool narrow_ = false;  ///< 16 bits, or quantised: the error depends on the graph more than on its last operator
  bool known_ = false;   ///< the honest error is that of this arithmetic
};

bool is_undecided(const OutputVerdict& output) {
  return output.undecided && output.verification == Verification::kUnverified;
}

// The cell's verdict from its outputs'.
Verdict summarise(std::vector<OutputVerdict> outputs, std::string reference) {
  Verdict verdict;
  verdict.reference = std::move(reference);
  verdict.outputs = std::move(outputs);
  const auto first = [&](Verification kind) {
    return std::find_if(verdict.outputs.begin(), verdict.outputs.end(),
                        [&](const auto& o) { return o.verification == kind; });
  };
  // Beside an output that proves something, a constant one is held to its limit like any other.
  if (first(Verification::kVerified) != verdict.outputs.end()) {
    for (OutputVerdict& output : verdict.outputs) {
      if (output.verification == Verification::kDegenerate && !(output.ratio <= 1.0)) {
        output.verification = Verification::kWrong;
        output.message = fmt::format("{}, and the error {:.3g} is beyond the limit {:.3g}", output.message,
                                     output.error, output.limit);
      }
    }
  }
  const auto has = [&](Verification kind) { return first(kind) != verdict.outputs.end(); };
  const bool undecided = std::ranges::any_of(verdict.outputs, is_undecided);
  if (verdict.outputs.empty()) {
    verdict.verification = Verification::kDegenerate;
    verdict.message = "no output was compared";
    return verdict;
  }
  if (has(Verification::kWrong)) {
    verdict.verification = Verification::kWrong;
    verdict.reason = ErrorCode::kMismatch;
  } else if (has(Verification::kIllConditioned)) {
    verdict.verification = Verification::kIllConditioned;
  } else if (undecided) {
    verdict.verification = Verification::kUnverified;
  } else if (has(Verification::kVerified)) {
    verdict.verification = Verification::kVerified;
  } else {
    verdict.verification = has(Verification::kDegenerate) ? Verification::kDegenerate : Verification::kUnverified;
  }
  // Outputs that decide rank first, then those with larger ratios.
  const auto rank = [&](const OutputVerdict& output) {
    const bool decides = output.verification == verdict.verification &&
                         (verdict.verification != Verification::kUnverified || !undecided || is_undecided(output));
    return std::pair(decides, output.ratio);
  };
  const auto worst = std::ranges::max_element(verdict.outputs, {}, rank);
  verdict.message = worst->message;
  for (const auto kind : {Verification::kDegenerate, Verification::kUnverified})
    if (verdict.message.empty() && has(kind)) verdict.message = first(kind)->message;
  for (const OutputVerdict& output : verdict.outputs)
    if (output.top1) verdict.top1_agreement = std::min(verdict.top1_agreement.value_or(1.0), *output.top1);
  verdict.worst_output = worst->name;
  verdict.limit_decides = worst->limit_decides;
  if (worst->comparison.elements == 0) return verdict;
  verdict.max_abs_error = worst->comparison.max_abs_error;
  verdict.max_rel_error = worst->comparison.max_rel_error;
  verdict.cosine = worst->comparison.cosine;
  verdict.error_limit = worst->limit;
  verdict.ratio = worst->ratio;
  verdict.rms_error = worst->rms_error;
  verdict.rms_limit = worst->rms_limit;
  verdict.honest_error = worst->honest;
  if (worst->element >= 0) {
    verdict.worst_set = worst->set;
    verdict.worst_element = fmt::format("{} of set {}", worst->element, worst->set);
  }
  return verdict;
}

Result<Verdict> judge_as(Mode mode, const OutputFiles& files, const VerifyOptions& options,
                         const std::optional<Tolerance>& tolerance) {
  if (files.reference.empty() || files.candidate.size() != files.reference.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} reference and {} candidate files do not make sets",
                                                         files.reference.size(), files.candidate.size()));
  const DType precision = options.quantised ? DType::kInt8 : options.precision;
  const auto floor =
      std::find_if(kFloors.begin(), kFloors.end(), [&](const Floor& f) { return f.precision == precision; });
  if (floor == kFloors.end())
    return fail(ErrorCode::kUnsupported, fmt::format("there is no limit for {} arithmetic", to_string(precision)));
  Evidence evidence;
  ASSAY_TRY(evidence.reference, open_all(files.reference));
  ASSAY_TRY(evidence.candidate, open_all(files.candidate));
  ASSAY_TRY(evidence.others, open_all(files.others));
  const std::vector<std::string> names = evidence.reference.front().names();
  std::vector<OutputVerdict> outputs(names.size());
  // Integers after the logits that they may come from.
  for (const bool counted : {false, true}) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSAY_TRY(const TensorView view, evidence.reference.front().tensor(names[i]));
      if (is_counted(view.dtype) != counted) continue;
      ASSAY_TRY(outputs[i], OutputJudge(names[i], options, tolerance, evidence, mode).run(*floor));
      if (!counted) evidence.element_limits.emplace(names[i], outputs[i].limit);
    }
  }
  return summarise(std::move(outputs), options.reference);
}

}  // namespace

std::span<const Floor> floors() { return kFloors; }

Result<Verdict> judge(const OutputFiles& files, const VerifyOptions& options) {
  return judge_as(Mode::kReference, files, options, std::nullopt);
}

std::string error_text(const OutputVerdict& output, const std::optional<HonestErrors>& honest) {
  const HonestOutput* h = honest ? honest->find(output.name) : nullptr;
  const auto or_none = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.4g}", *value) : "none";
  };
  std::string text = fmt::format("output {}: {}, rms {} row {} element {} top1 {} ratio {:.4g}", sanitise(output.name),
                                 to_string(output.verification), or_none(output.rms_error), or_none(output.row_error),
                                 or_none(output.element_error), or_none(output.top1), output.ratio);
  if (h == nullptr) return text + "; honest unknown";
  return text + fmt::format(
                    "; honest {} of {}: moves {:.4g} rms {:.4g} row {:.4g} element {:.4g} top1 {:.4g} "
                    "correlation {:.4g} changed {:.4g}",
                    honest->method, honest->runs, h->moves, h->rms, h->row, h->element, h->top1, h->correlation,
                    h->changed);
}

Result<Verdict> check_golden(const std::filesystem::path& expected, const std::filesystem::path& actual,
                             const Tolerance& tolerance, std::span<const NamedView> inputs) {
  const VerifyOptions options{.reference = "golden", .inputs = {{inputs.begin(), inputs.end()}}};
  ASSAY_TRY(Verdict verdict,
            judge_as(Mode::kGolden, {.reference = {expected}, .candidate = {actual}}, options, tolerance));
  if (verdict.verification == Verification::kVerified) return verdict;
  verdict.verification = Verification::kWrong;
  verdict.reason = ErrorCode::kMismatch;
  return verdict;
}

}  // namespace assay
