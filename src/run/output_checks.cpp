// SPDX-License-Identifier: Apache-2.0
#include "run/output_checks.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/hash.hpp"
#include "tensor/recipe.hpp"
#include "verify/verify.hpp"

namespace assay {
namespace fs = std::filesystem;

Status OutputChecks::judge_outputs(const std::vector<fs::path>& computed) {
  OutputFiles files;
  files.reference = reference_.outputs;
  files.candidate = computed;
  files.perturbed = reference_.perturbed;
  VerifyOptions options;
  options.reference = reference_.name;
  // A graph of 16 bits is rounded between its operators even if the runtime computes each in float32.
  const DType effective = dtype_from(row_.effective_precision).value_or(DType::kFloat32);
  options.precision = bit_width(effective) < bit_width(task_.arithmetic) ? effective : task_.arithmetic;
  // Positions that a mask leaves out do not count. A prompt has no padding, and its logits are not its positions.
  const std::vector<InputRecipe> masks = task_.generation ? std::vector<InputRecipe>() : task_.inputs;
  std::vector<NamedTensor> kept;
  kept.reserve(computed.size() * masks.size());
  for (std::size_t set = 0; set < computed.size(); ++set) {
    options.inputs.emplace_back();
    for (const InputRecipe& recipe : masks) {
      if (!matters_to_masks(recipe.name)) continue;
      ASSAY_TRY(Tensor tensor, make_input(recipe, task_.seed, set));
      kept.push_back({recipe.name, std::move(tensor)});
      options.inputs.back().push_back({recipe.name, kept.back().tensor.view()});
    }
  }
  ASSAY_TRY(const Verdict verdict, judge(files, options));
  row_.verification = verdict.verification;
  row_.max_abs_error = verdict.max_abs_error;
  row_.max_rel_error = verdict.max_rel_error;
  row_.cosine_similarity = verdict.cosine;
  row_.error_limit = verdict.error_limit;
  row_.worst_output = verdict.worst_output;
  row_.message = verdict.message;
  return {};
}

Status OutputChecks::before(Worker& worker, const Deadline& deadline) {
  std::vector<fs::path> computed{scratch_ / "candidate0.safetensors"};
  ASSAY_TRY(const InferReply first, worker.infer({0, computed[0]}, deadline.left()));
  row_.first_inference_ms = first.run_ms;
  if (const Result<std::string> hash = sha256_file(computed[0])) fingerprint_ = {{"set0_sha256", *hash}};
  if (!task_.verify) return {};
  row_.reference = reference_.name;
  if (task_.inputs.empty()) {
    row_.verification = Verification::kDegenerate;
    row_.message = "the model has no inputs: its output proves nothing";
    return {};
  }
  if (reference_.name == "none") {
    row_.verification = Verification::kUnverified;
    row_.message = reference_.why_none;
    return {};
  }
  for (std::size_t set = 1; set < reference_.outputs.size(); ++set) {
    computed.push_back(scratch_ / fmt::format("candidate{}.safetensors", set));
    ASSAY_TRY([[maybe_unused]] const InferReply next, worker.infer({set, computed[set]}, deadline.left()));
  }
  ASSAY_CHECK_OK(judge_outputs(computed));
  if (task_.generation && row_.message.empty())
    row_.message = fmt::format("logits compared after the prompt and after {} further tokens",
                               teacher_forced_tokens(task_.generation->output_tokens));
  if (const std::string& note = task_.reference.given_note; !note.empty())
    row_.message =
        fmt::format("{}{}{}; compared with {}", row_.message, row_.message.empty() ? "" : "; ", note, reference_.name);
  return {};
}

}  // namespace assay
