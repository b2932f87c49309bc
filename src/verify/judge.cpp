// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/text.hpp"
#include "tensor/ulp.hpp"
#include "verify/verify.hpp"

namespace assay {
namespace {

constexpr Floor kFloat32Floor{DType::kFloat32, 1e-5, 0.001};
constexpr std::array<Floor, 5> kFloors{{{DType::kFloat64, 1e-12, 0.001},
                                        kFloat32Floor,
                                        {DType::kFloat16, 1e-2, 0.02},
                                        {DType::kBFloat16, 4e-2, 0.02},
                                        {DType::kInt8, 4e-2, 0.02}}};

using Files = std::vector<SafetensorsFile>;

Result<Files> open_all(const std::vector<std::filesystem::path>& paths) {
  Files files;
  for (const auto& path : paths) {
    ASSAY_TRY(SafetensorsFile file, SafetensorsFile::open(path));
    files.push_back(std::move(file));
  }
  return files;
}

// Floats of 16 bits as float32, which holds them all; other tensors unchanged. `storage` keeps what is new.
Result<TensorView> widened(const TensorView& view, Tensor& storage) {
  const bool half = view.dtype == DType::kFloat16;
  if (!half && view.dtype != DType::kBFloat16) return view;
  ASSAY_TRY(storage, Tensor::create(DType::kFloat32, view.shape));
  widen(view.dtype, view.bytes, storage.as<float>());
  return std::as_const(storage).view();
}

// The share of elements that differ, of a comparison without tolerance.
double differing(const Comparison& c) {
  return c.elements == 0 ? 0.0 : static_cast<double>(c.exceeding) / static_cast<double>(c.elements);
}

bool is_counted(DType dtype) { return is_integer(dtype) || dtype == DType::kBool; }

std::optional<TensorView> mask_of(const std::vector<NamedView>& inputs, std::string_view output, const Shape& shape) {
  std::vector<NamedShape> shapes;
  shapes.reserve(inputs.size());
  for (const auto& [name, view] : inputs) shapes.push_back({name, view.shape});
  const auto index = mask_for(output, shape, shapes);
  if (!index) return std::nullopt;
  return inputs[*index].view;
}

// All that is judged at once: files by set, opened.
struct Evidence {
  Files reference, perturbed, candidate;
};

// A golden is compared and nothing else; any other reference is first asked whether it proves anything.
enum class Mode { kGolden, kReference };

// Judges one output over all sets.
class OutputJudge {
 public:
  OutputJudge(std::string name, const VerifyOptions& options, const Evidence& evidence, Mode mode)
      : options_(options),
        reference_(evidence.reference),
        perturbed_(evidence.perturbed),
        candidate_(evidence.candidate),
        mode_(mode) {
    verdict_.name = std::move(name);
  }

  Result<OutputVerdict> run(const Floor& floor) {
    ASSAY_TRY(const bool comparable, compare_sets());
    if (!comparable) return verdict_;
    if (verdict_.comparison.elements == 0) return conclude(Verification::kDegenerate, "has no elements to compare");
    if (mode_ == Mode::kReference) {
      ASSAY_CHECK_OK(find_degenerate());
      ASSAY_CHECK_OK(measure_movement());
    }
    if (options_.tolerance)
      apply_tolerance();
    else
      apply_limit(floor);
    if (std::isinf(verdict_.comparison.max_abs_error)) return conclude(Verification::kWrong, not_a_number());
    if (degenerate_) return conclude(Verification::kDegenerate, *degenerate_);
    if (ill_conditioned_) return conclude(Verification::kIllConditioned, *ill_conditioned_);
    if (!(verdict_.ratio <= 1.0)) return conclude(Verification::kWrong, beyond_limit());
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
    if (set >= options_.inputs.size()) return std::nullopt;
    return mask_of(options_.inputs[set], verdict_.name, shape);
  }

  // Candidate against reference: shape, dtype, then the numbers of every set. False: already wrong.
  Result<bool> compare_sets() {
    double squares = 0.0;
    for (std::size_t set = 0; set < reference_.size(); ++set) {
      ASSAY_TRY(const TensorView expected, reference_[set].tensor(verdict_.name));
      if (!candidate_[set].contains(verdict_.name)) return wrong("is missing");
      ASSAY_TRY(const TensorView actual, candidate_[set].tensor(verdict_.name));
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
      ASSAY_TRY(const Comparison found, compare(r, c, options_.tolerance.value_or(Tolerance{}), mask(set, r.shape)));
      sets_.push_back(found);
      squares += found.reference_rms * found.reference_rms;
    }
    scale_ = std::sqrt(squares / static_cast<double>(sets_.size()));
    const auto worse = [&](const Comparison& a, const Comparison& b) {
      if (options_.tolerance) return a.worst_ratio < b.worst_ratio;
      return counted_ ? a.agreement > b.agreement : a.max_abs_error < b.max_abs_error;
    };
    verdict_.comparison = *std::max_element(sets_.begin(), sets_.end(), worse);
    return true;
  }

  bool wrong(std::string message) {
    verdict_.ratio = std::numeric_limits<double>::infinity();
    conclude(Verification::kWrong, std::move(message));
    return false;
  }

  void apply_tolerance() {
    const Comparison& c = verdict_.comparison;
    verdict_.limit = options_.tolerance->absolute + options_.tolerance->relative * std::abs(c.worst_reference);
    verdict_.error = std::abs(c.worst_candidate - c.worst_reference);
    verdict_.ratio = c.worst_ratio;
  }

  // How the reference moves when its inputs and weights do.
  Status measure_movement() {
    for (std::size_t set = 0; set < perturbed_.size(); ++set) {
      ASSAY_TRY(const TensorView expected, reference_[set].tensor(verdict_.name));
      ASSAY_TRY(const TensorView moved, perturbed_[set].tensor(verdict_.name));
      if (moved.shape != expected.shape) {
        ill_conditioned_ =
            fmt::format("the reference's shape {} becomes {} when its weights move by one unit in the last place",
                        to_string(expected.shape), to_string(moved.shape));
        continue;
      }
      ASSAY_TRY(const Comparison found, compare(expected, moved, {}, mask(set, expected.shape)));
      const double movement = counted_ ? differing(found) : found.max_abs_error;
      verdict_.movement = std::max(verdict_.movement, movement);
      // One element has no deviation; integers no scale: a tenth of them is a tenth.
      const double deviation = counted_ ? 1.0 : found.elements > 1 ? found.reference_deviation : found.reference_rms;
      if (movement > kIllConditioned * deviation)
        ill_conditioned_ = fmt::format(
            "the reference itself moves by {:.3g} (a tenth of its deviation is {:.3g}) when its "
            "inputs and weights move by one unit in the last place",
            movement, kIllConditioned * deviation);
    }
    return {};
  }

  // Whether the reference's output says anything. Its arithmetic is float32, whatever the candidate's.
  Status find_degenerate() {
    constexpr double kEqual = kFloat32Floor.relative;
    const auto constant = [&](const Comparison& c) {
      if (counted_) return sets_.size() == 1 && c.reference_constant;
      const double range = c.reference_max - c.reference_min;
      return c.elements > 1 && range <= kEqual * std::max(std::abs(c.reference_max), std::abs(c.reference_min));
    };
    if (std::all_of(sets_.begin(), sets_.end(), constant)) {
      degenerate_ = "the reference is constant and proves nothing";
      return {};
    }
    if (reference_.size() < 2) return {};
    ASSAY_TRY(const TensorView first, reference_[0].tensor(verdict_.name));
    ASSAY_TRY(const TensorView second, reference_[1].tensor(verdict_.name));
    if (first.shape != second.shape) return {};
    ASSAY_TRY(const Comparison change, compare(first, second, {}, mask(0, first.shape)));
    if (change.max_abs_error <= (counted_ ? 0.0 : kEqual * change.reference_rms))
      degenerate_ = "the reference does not change with its inputs and proves nothing";
    return {};
  }

  void apply_limit(const Floor& floor) {
    const double factor = perturbed_.empty() ? kUnknownMovement : 1.0;
    const double scale = scale_ > 0.0 ? scale_ : 1.0;
    const double least = counted_ ? floor.disagreement : floor.relative * factor * scale;
    verdict_.limit = std::max(least, kMovementFactor * verdict_.movement);
    verdict_.error = counted_ ? differing(verdict_.comparison) : verdict_.comparison.max_abs_error;
    verdict_.ratio = verdict_.error == 0.0 ? 0.0 : verdict_.error / verdict_.limit;
  }

  std::string not_a_number() const {
    const Comparison& c = verdict_.comparison;
    return fmt::format("{} NaN and {} infinite elements, the reference has {} and {} (of {})", c.nan_candidate,
                       c.inf_candidate, c.nan_reference, c.inf_reference, c.elements);
  }

  std::string beyond_limit() const {
    const Comparison& c = verdict_.comparison;
    if (counted_ && !options_.tolerance)
      return fmt::format("{:.3g} % of {} elements differ, {:.3g} % may", 100 * verdict_.error, c.elements,
                         100 * verdict_.limit);
    return fmt::format("element {} is {:.6g} instead of {:.6g}; its error {:.3g} is {:.3g} times the limit {:.3g}",
                       c.worst_index, c.worst_candidate, c.worst_reference, verdict_.error, verdict_.ratio,
                       verdict_.limit);
  }

  const VerifyOptions& options_;
  const Files &reference_, &perturbed_, &candidate_;
  Mode mode_;
  OutputVerdict verdict_;
  std::vector<Comparison> sets_;
  std::optional<std::string> degenerate_, ill_conditioned_;
  double scale_ = 0.0;
  bool counted_ = false;
};

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
  verdict.verification = verdict.outputs.empty() ? Verification::kDegenerate : Verification::kVerified;
  if (verdict.outputs.empty()) verdict.message = "no output was compared";
  for (const auto kind : {Verification::kWrong, Verification::kIllConditioned}) {
    if (const auto found = first(kind); found != verdict.outputs.end() && verdict.message.empty()) {
      verdict.verification = kind;
      verdict.message = found->message;
    }
  }
  if (const auto found = first(Verification::kDegenerate); found != verdict.outputs.end() && verdict.message.empty()) {
    if (first(Verification::kVerified) == verdict.outputs.end()) verdict.verification = Verification::kDegenerate;
    verdict.message = found->message;
  }
  if (verdict.verification == Verification::kWrong) verdict.reason = ErrorCode::kMismatch;
  const auto worst = std::max_element(verdict.outputs.begin(), verdict.outputs.end(), [](const auto& a, const auto& b) {
    const bool a_wrong = a.verification == Verification::kWrong, b_wrong = b.verification == Verification::kWrong;
    return std::pair(a_wrong, a.ratio) < std::pair(b_wrong, b.ratio);
  });
  if (worst != verdict.outputs.end()) {
    verdict.worst_output = worst->name;
    if (worst->comparison.elements > 0) {
      verdict.max_abs_error = worst->comparison.max_abs_error;
      verdict.max_rel_error = worst->comparison.max_rel_error;
      verdict.cosine = worst->comparison.cosine;
      verdict.error_limit = worst->limit;
      verdict.ratio = worst->ratio;
    }
  }
  return verdict;
}

Result<Verdict> judge_as(Mode mode, const OutputFiles& files, const VerifyOptions& options) {
  if (files.reference.empty() || files.candidate.size() != files.reference.size() ||
      (!files.perturbed.empty() && files.perturbed.size() != files.reference.size()))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} reference, {} perturbed and {} candidate files do not make sets",
                            files.reference.size(), files.perturbed.size(), files.candidate.size()));
  const auto floor =
      std::find_if(kFloors.begin(), kFloors.end(), [&](const Floor& f) { return f.precision == options.precision; });
  if (floor == kFloors.end())
    return fail(ErrorCode::kUnsupported,
                fmt::format("there is no limit for {} arithmetic", to_string(options.precision)));
  Evidence evidence;
  ASSAY_TRY(evidence.reference, open_all(files.reference));
  ASSAY_TRY(evidence.perturbed, open_all(files.perturbed));
  ASSAY_TRY(evidence.candidate, open_all(files.candidate));
  std::vector<OutputVerdict> outputs;
  for (const std::string& name : evidence.reference.front().names()) {
    ASSAY_TRY(OutputVerdict output, OutputJudge(name, options, evidence, mode).run(*floor));
    outputs.push_back(std::move(output));
  }
  return summarise(std::move(outputs), options.reference);
}

}  // namespace

std::span<const Floor> floors() { return kFloors; }

Result<Verdict> judge(const OutputFiles& files, const VerifyOptions& options) {
  return judge_as(Mode::kReference, files, options);
}

Result<Verdict> check_golden(const std::filesystem::path& expected, const std::filesystem::path& actual,
                             const Tolerance& tolerance, std::span<const NamedView> inputs) {
  const VerifyOptions options{
      .reference = "golden", .tolerance = tolerance, .inputs = {{inputs.begin(), inputs.end()}}};
  ASSAY_TRY(Verdict verdict,
            judge_as(Mode::kGolden, {.reference = {expected}, .perturbed = {}, .candidate = {actual}}, options));
  if (verdict.verification == Verification::kVerified) return verdict;
  verdict.verification = Verification::kWrong;
  verdict.reason = ErrorCode::kMismatch;
  return verdict;
}

}  // namespace assay
