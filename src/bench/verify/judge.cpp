// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "bench/verify/cell_verdict.hpp"
#include "bench/verify/judged_files.hpp"
#include "bench/verify/limits.hpp"
#include "bench/verify/output_judge.hpp"
#include "bench/verify/verify.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

Result<Verdict> judge_as(JudgeMode mode, const OutputFiles& files, const VerifyOptions& options,
                         const std::optional<Tolerance>& tolerance) {
  if (files.reference.empty() || files.candidate.size() != files.reference.size())
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} reference and {} candidate files do not make sets",
                                                         files.reference.size(), files.candidate.size()));
  const Floor* floor = floor_of(options);
  if (floor == nullptr)
    return fail(ErrorCode::kUnsupported, fmt::format("there is no limit for {} arithmetic",
                                                     to_string(options.quantised ? DType::kInt8 : options.precision)));
  JudgedFiles judged;
  ASSAY_TRY(judged.reference, open_all(files.reference));
  ASSAY_TRY(judged.candidate, open_all(files.candidate));
  ASSAY_TRY(judged.others, open_all(files.others));
  const std::vector<std::string> names = judged.reference.front().names();
  std::vector<OutputVerdict> outputs(names.size());
  // Integers after the logits that they may come from.
  for (const bool counted : {false, true}) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSAY_TRY(const TensorView view, judged.reference.front().tensor(names[i]));
      if (is_counted(view.dtype) != counted) continue;
      ASSAY_TRY(outputs[i], judge_output(names[i], *floor, options, tolerance, judged, mode));
      if (!counted) judged.element_limits.emplace(names[i], outputs[i].limit);
    }
  }
  return summarise(std::move(outputs), options.reference);
}

}  // namespace

Result<Verdict> judge(const OutputFiles& files, const VerifyOptions& options) {
  return judge_as(JudgeMode::kReference, files, options, std::nullopt);
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
            judge_as(JudgeMode::kGolden, {.reference = {expected}, .candidate = {actual}}, options, tolerance));
  if (verdict.verification == Verification::kVerified) return verdict;
  verdict.verification = Verification::kWrong;
  verdict.reason = ErrorCode::kMismatch;
  return verdict;
}

}  // namespace assay
