// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <assay/result.hpp>

#include "model/model.hpp"
#include "tensor/recipe.hpp"
#include "worker/worker.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// The graph of a model that generates, in another form than the portable one: prompt and steps with caches that keep
/// their length. The portable graph stays beside it, as what it is verified against.
struct FormGraph {
  zoo::BuiltModel model;
  ModelInfo info;
  Generation generation{};  ///< its lengths are a cell's to set
};

/// `request` asks for a whole model and is left so. Errors: those of zoo::build; unsupported ("unsupported: form = …")
/// for a model whose prompt needs a graph of its own, or whose attention the form cannot express.
[[nodiscard]] Result<FormGraph> build_form(zoo::BuildRequest& request, zoo::Form form,
                                           const std::filesystem::path& file);

/// What the graph is given of the `portable` one's prompt, where caches hold `cache_tokens`: the same values.
[[nodiscard]] std::vector<InputRecipe> form_inputs(const FormGraph& graph, const std::vector<InputRecipe>& portable,
                                                   std::int64_t cache_tokens);

}  // namespace assay
