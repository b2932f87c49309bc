// SPDX-License-Identifier: Apache-2.0
#include "run/honest_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "tensor/random.hpp"
#include "tensor/ulp.hpp"
#include "verify/verify.hpp"

namespace assay {
namespace {

// The model of a zoo that is built in 16 bits: its graph has the types that candidates have.
bool is_built_in_16_bits(const ArtefactSpec& spec) { return spec.zoo && spec.zoo->precision != "float32"; }

}  // namespace

std::string HonestMethod::name() const {
  return kind == Kind::kRounded ? "rounded" : kind == Kind::kQuantised ? "quantised" : "perturbed";
}

bool HonestMethod::keeps_types(const ArtefactSpec& original) const {
  return kind == Kind::kRounded && is_built_in_16_bits(original);
}

ArtefactSpec HonestMethod::artefact(const ArtefactSpec& original, ArtefactSpec reference, std::size_t run) const {
  using HonestRun = ArtefactSpec::HonestRun;
  ArtefactSpec spec = keeps_types(original) ? original : std::move(reference);
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
         "the "
         "weights to 7 bits (reduce_range), or both sides to unsigned numbers";
}

Result<MaskInputs> MaskInputs::make(const std::vector<InputRecipe>& recipes, std::uint64_t seed, std::size_t sets) {
  MaskInputs masks;
  masks.tensors.reserve(sets * recipes.size());  // views point into it
  for (std::size_t set = 0; set < sets; ++set) {
    masks.views.emplace_back();
    for (const InputRecipe& recipe : recipes) {
      if (!matters_to_masks(recipe.name)) continue;
      ASSAY_TRY(Tensor tensor, make_input(recipe, seed, set));
      masks.tensors.push_back({recipe.name, std::move(tensor)});
      masks.views.back().push_back({recipe.name, masks.tensors.back().tensor.view()});
    }
  }
  return masks;
}

}  // namespace assay
