// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/plan/task.hpp"
#include "core/tensor/recipe.hpp"
#include "core/tensor/safetensors.hpp"

namespace assay {

/// How the honest error of a task's model is estimated (docs/statistics.md, "Honest error"): a few runs of copies of
/// its graph that err as an honest runtime may.
struct HonestMethod {
  enum class Kind { kRounded, kPerturbed, kQuantised };
  Kind kind = Kind::kPerturbed;
  DType precision = DType::kFloat32;

  /// "rounded", "perturbed", "quantised".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t runs() const { return kind == Kind::kPerturbed ? 2 : 3; }
  /// The artefact of one run. `original`: the task's; `reference`: what its reference loads.
  [[nodiscard]] ArtefactSpec artefact(const ArtefactSpec& original, const ArtefactSpec& reference,
                                      std::size_t run) const;
  /// Whether the copies have the types of the original graph, not of the reference's.
  [[nodiscard]] bool keeps_types(const ArtefactSpec& original) const;
  /// The inputs of one run and set, as files in `folder`. Errors: those of make_input; internal (disk full).
  [[nodiscard]] Result<std::vector<InputRecipe>> inputs(const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                                                        std::size_t set, std::size_t run,
                                                        const std::filesystem::path& folder) const;
};

/// Input sets whose honest error is measured: one without and one with padding, if there are both.
inline constexpr std::size_t kHonestSets = 2;

/// The inputs of one item, of those of a batch: the estimate of a batch of one serves all. Inputs from files stay.
[[nodiscard]] std::vector<InputRecipe> at_batch_one(std::vector<InputRecipe> recipes, std::int64_t batch);

/// What to do about wrong numbers of a quantised model on a CPU with these instruction sets (CpuInfo::isa); "": nothing
/// is known. Without VNNI, x86 multiplies unsigned by signed 8-bit numbers in pairs whose sum saturates at 16 bits.
[[nodiscard]] std::string saturation_hint(const std::vector<std::string>& isa);

/// The inputs that masks are chosen from, for each of `sets`: `views` point into `tensors`. A generation's logits are
/// those of compared_tokens(), and only the first of them, after the prompt, can belong to padding.
struct MaskInputs {
  std::vector<NamedTensor> tensors;
  std::vector<std::vector<NamedView>> views;
  /// `recipes`: the task's inputs, at any batch. Errors: those of make_input.
  [[nodiscard]] static Result<MaskInputs> make(const Task& task, const std::vector<InputRecipe>& recipes,
                                               const std::vector<std::size_t>& sets);
};

}  // namespace assay
