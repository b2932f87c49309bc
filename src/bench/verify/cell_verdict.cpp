// SPDX-License-Identifier: Apache-2.0
#include "bench/verify/cell_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay {
namespace {

bool is_undecided(const OutputVerdict& output) {
  return output.undecided && output.verification == Verification::kUnverified;
}

}  // namespace

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

}  // namespace assay
