// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/honest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/verify/errors.hpp"
#include "core/tensor/compare.hpp"

namespace assay {
namespace {

// The 99 % upper bound of a root mean square that n independent normal errors gave, over what they gave: the first
// percentile of chi-square by Wilson and Hilferty (PNAS 17, 1931).
double few_errors(double n) {
  constexpr double kFirstPercentile = -2.326;
  const double root = 1.0 - 2.0 / (9.0 * n) + kFirstPercentile * std::sqrt(2.0 / (9.0 * n));
  return std::min(4.0, 1.0 / std::sqrt(std::max(root * root * root, 1.0 / 16.0)));
}

/// One output over all runs.
class Measure {
 public:
  Measure(std::string name, const OpenFiles& reference, const std::vector<OpenFiles>& runs,
          const std::vector<std::vector<NamedView>>& inputs)
      : reference_(reference), runs_(runs), inputs_(inputs) {
    found_.name = std::move(name);
  }

  Result<HonestOutput> run() {
    double elements = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      ErrorScan scan;
      std::int64_t changed = 0, counted = 0;
      for (std::size_t set = 0; set < reference_.size(); ++set) {
        ASSAY_TRY(const TensorView expected, reference_[set].tensor(found_.name));
        ASSAY_TRY(const bool same, add(expected, runs_[i], set, scan, changed, counted));
        if (!same) return found_;
      }
      const OutputErrors errors = scan.finish();
      elements += static_cast<double>(errors.elements);
      if (counted > 0)
        found_.changed = std::max(found_.changed, static_cast<double>(changed) / static_cast<double>(counted));
      if (errors.top1) found_.top1 = std::min(found_.top1, *errors.top1);
      if (errors.elements == 0 || errors.reference_rms == 0.0) continue;
      found_.rms = std::max(found_.rms, errors.rms / errors.reference_rms);
      found_.row = std::max(found_.row, errors.row / errors.reference_rms);
      found_.element = std::max(found_.element, errors.element / errors.reference_rms);
    }
    found_.moves = found_.rms;
    if (elements > 0) found_.rms *= few_errors(elements);
    // A row of the worst kind may not be worse than all together.
    found_.row = std::max(found_.row, found_.rms);
    found_.element = std::max(found_.element, found_.rms);
    for (std::size_t i = 1; i < runs_.size(); ++i) ASSAY_CHECK_OK(correlate(runs_[i - 1], runs_[i]));
    return found_;
  }

 private:
  // False: the run has another shape, or lacks the output.
  Result<bool> add(const TensorView& expected, const OpenFiles& run, std::size_t set, ErrorScan& scan,
                   std::int64_t& changed, std::int64_t& counted) {
    if (!run[set].contains(found_.name)) {
      found_.same_shape = false;
      return false;
    }
    ASSAY_TRY(const TensorView actual, run[set].tensor(found_.name));
    if (actual.shape != expected.shape) {
      found_.same_shape = false;
      return false;
    }
    const auto mask = mask_of(inputs_, set, found_.name, expected.shape);
    if (is_counted(expected.dtype)) {
      if (actual.dtype != expected.dtype) return true;
      ASSAY_TRY(const Comparison compared, compare(expected, actual, {}, mask));
      changed += compared.exceeding;
      counted += compared.elements;
      return true;
    }
    Tensor wide_expected, wide_actual;
    ASSAY_TRY(const TensorView r, widened(expected, wide_expected));
    ASSAY_TRY(const TensorView c, widened(actual, wide_actual));
    if (r.dtype != c.dtype || (r.dtype != DType::kFloat32 && r.dtype != DType::kFloat64)) return true;
    scan.add(r, c, mask);
    return true;
  }

  Status correlate(const OpenFiles& a, const OpenFiles& b) {
    ErrorScan scan;
    for (std::size_t set = 0; set < reference_.size(); ++set) {
      if (!a[set].contains(found_.name)) return {};
      ASSAY_TRY(const TensorView first, a[set].tensor(found_.name));
      std::int64_t changed = 0, counted = 0;
      ASSAY_TRY(const bool same, add(first, b, set, scan, changed, counted));
      if (!same) return {};
    }
    found_.correlation = std::min(found_.correlation, scan.finish().correlation);
    return {};
  }

  const OpenFiles& reference_;
  const std::vector<OpenFiles>& runs_;
  const std::vector<std::vector<NamedView>>& inputs_;
  HonestOutput found_;
};

}  // namespace

const HonestOutput* HonestErrors::find(std::string_view output) const {
  const auto found = std::ranges::find(outputs, output, &HonestOutput::name);
  return found == outputs.end() ? nullptr : &*found;
}

HonestErrors with_reference_error(const HonestErrors& perturbed, const HonestErrors& reference) {
  HonestErrors together = perturbed;
  constexpr double kLeast = 1e-6;  // half of the least limit of float32
  for (HonestOutput& output : together.outputs) {
    const HonestOutput* own = reference.find(output.name);
    if (own == nullptr) continue;
    for (const auto member : {&HonestOutput::rms, &HonestOutput::row, &HonestOutput::element})
      if (own->*member <= kMostReferenceError * std::max(output.*member, kLeast))
        output.*member = std::max(output.*member, own->*member);
  }
  return together;
}

Json to_json(const HonestErrors& errors) {
  Json outputs = Json::array();
  for (const HonestOutput& o : errors.outputs)
    outputs.push_back({{"name", o.name},
                       {"moves", o.moves},
                       {"rms", o.rms},
                       {"row", o.row},
                       {"element", o.element},
                       {"correlation", o.correlation},
                       {"top1", o.top1},
                       {"changed", o.changed},
                       {"same_shape", o.same_shape}});
  return {{"method", errors.method}, {"runs", errors.runs}, {"outputs", std::move(outputs)}};
}

Result<HonestErrors> honest_from_json(const Json& json) try {
  HonestErrors errors;
  errors.method = json.at("method");
  errors.runs = json.at("runs");
  for (const Json& o : json.at("outputs"))
    errors.outputs.push_back({o.at("name"), o.at("moves"), o.at("rms"), o.at("row"), o.at("element"),
                              o.at("correlation"), o.at("top1"), o.at("changed"), o.at("same_shape")});
  return errors;
} catch (const std::exception& problem) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("these are not honest errors: {}", problem.what()));
}

Result<HonestErrors> measure_honest(std::string method, const std::vector<std::filesystem::path>& reference,
                                    const std::vector<std::vector<std::filesystem::path>>& runs,
                                    const std::vector<std::vector<NamedView>>& inputs) {
  ASSAY_TRY(const OpenFiles expected, open_all(reference));
  std::vector<OpenFiles> opened;
  for (const auto& run : runs) {
    ASSAY_TRY(OpenFiles files, open_all(run));
    opened.push_back(std::move(files));
  }
  HonestErrors errors{.method = std::move(method), .runs = runs.size(), .outputs = {}};
  if (expected.empty()) return errors;
  for (const std::string& name : expected.front().names()) {
    ASSAY_TRY(HonestOutput output, Measure(name, expected, opened, inputs).run());
    errors.outputs.push_back(std::move(output));
  }
  return errors;
}

}  // namespace assay
