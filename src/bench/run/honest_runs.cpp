// SPDX-License-Identifier: Apache-2.0
#include "bench/run/honest_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "bench/verify/verify.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/ulp.hpp"

namespace assay {
namespace {

// The model of a zoo that is built in 16 bits: its graph has the types that candidates have.
bool is_built_in_16_bits(const ArtefactSpec& spec) { return spec.zoo && spec.zoo->precision != "float32"; }

// Whether the prompts of the padded set end with padding, so that the logits after them belong to no token.
bool ends_with_padding(const Task& task) {
  if (!task.generation || task.generation->output_tokens < 2) return false;
  const auto mask = std::ranges::find(task.inputs, task.generation->mask, &InputRecipe::name);
  return mask != task.inputs.end() && has_padding({*mask});
}

}  // namespace

std::string HonestMethod::name() const {
  return kind == Kind::kRounded ? "rounded" : kind == Kind::kQuantised ? "quantised" : "perturbed";
}

bool HonestMethod::keeps_types(const ArtefactSpec& original) const {
  return kind == Kind::kRounded && is_built_in_16_bits(original);
}

ArtefactSpec HonestMethod::artefact(const ArtefactSpec& original, const ArtefactSpec& reference,
                                    std::size_t run) const {
  using HonestRun = ArtefactSpec::HonestRun;
  ArtefactSpec spec = keeps_types(original) ? original : reference;
  if (kind == Kind::kRounded) {
    spec.honest = HonestRun{HonestRun::Kind::kRounded, precision, run};
    return spec;
  }
  spec.perturbation = ArtefactSpec::Perturbation{kind == Kind::kQuantised ? DType::kFloat32 : precision, run + 1};
  if (kind == Kind::kQuantised) spec.honest = HonestRun{HonestRun::Kind::kQuantised, DType::kFloat32, run};
  return spec;
}

Result<std::vector<InputRecipe>> HonestMethod::inputs(const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                                                      std::size_t set, std::size_t run,
                                                      const std::filesystem::path& folder) const {
  std::vector<InputRecipe> changed = recipes;
  for (std::size_t i = 0; i < changed.size(); ++i) {
    ASSAY_TRY(Tensor tensor, make_input(recipes[i], seed, set));
    const DType unit = kind == Kind::kQuantised ? DType::kFloat32 : precision;
    if (kind == Kind::kRounded)
      round_to_precision(tensor.dtype(), tensor.bytes(), precision);
    else
      perturb_by_one_ulp(tensor.dtype(), tensor.bytes(), unit, CounterRandom(run + 1, recipes[i].name));
    changed[i].fill = Fill::kFile;
    changed[i].file = folder / fmt::format("input_{}.safetensors", i);  // .npy has no bfloat16
    const NamedView named{recipes[i].name, tensor.view()};
    ASSAY_CHECK_OK(write_safetensors(changed[i].file, std::span(&named, 1), {}, Persistence::kScratch));
  }
  return changed;
}

std::vector<InputRecipe> at_batch_one(std::vector<InputRecipe> recipes, std::int64_t batch) {
  const bool files = std::ranges::any_of(recipes, [](const InputRecipe& r) { return r.fill == Fill::kFile; });
  if (batch == 1 || files) return recipes;
  for (InputRecipe& recipe : recipes)
    if (!recipe.shape.empty() && recipe.shape.front() == batch) recipe.shape.front() = 1;
  return recipes;
}

std::string saturation_hint(const std::vector<std::string>& isa) {
  const auto has = [&](std::string_view set) { return std::ranges::find(isa, set) != isa.end(); };
  if (!has("avx2") || has("avx512_vnni") || has("avx_vnni") || has("amx_int8") || has("avx10")) return "";
  return "this CPU has no VNNI: sums of products of unsigned and signed 8-bit numbers saturate at 16 bits; quantise "
         "the weights to 7 bits (reduce_range), or both sides to unsigned numbers";
}

Result<MaskInputs> MaskInputs::make(const Task& task, const std::vector<InputRecipe>& recipes,
                                    const std::vector<std::size_t>& sets) {
  MaskInputs masks;
  masks.tensors.reserve(sets.size() * (recipes.size() + 1));  // views point into it
  const auto add = [&](std::string name, Tensor tensor) {
    masks.tensors.push_back({std::move(name), std::move(tensor)});
    masks.views.back().push_back({masks.tensors.back().name, masks.tensors.back().tensor.view()});
  };
  const auto tokens =
      task.generation ? std::ranges::find(recipes, task.generation->tokens, &InputRecipe::name) : recipes.end();
  const std::int64_t batch =
      tokens == recipes.end() || tokens->shape.empty() ? task.shape.batch : tokens->shape.front();
  for (const std::size_t set : sets) {
    masks.views.emplace_back();
    if (task.generation) {
      if (set != kPaddedSet || !ends_with_padding(task)) continue;
      const std::int64_t places = std::ssize(compared_tokens(task.generation->output_tokens));
      ASSAY_TRY(Tensor mask, Tensor::create(DType::kInt64, {batch, places}));
      for (std::int64_t i = 0; i < batch * places; ++i)
        mask.as<std::int64_t>()[static_cast<std::size_t>(i)] = i % places == 0 ? 0 : 1;
      add("attention_mask", std::move(mask));
      continue;
    }
    for (const InputRecipe& recipe : recipes) {
      if (!matters_to_masks(recipe.name)) continue;
      ASSAY_TRY(Tensor tensor, make_input(recipe, task.seed, set));
      add(recipe.name, std::move(tensor));
    }
  }
  return masks;
}

}  // namespace assay
