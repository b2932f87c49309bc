// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include <assay/result.hpp>

#include "engine/registry.hpp"
#include "model/model.hpp"
#include "prepare/generation.hpp"
#include "tensor/recipe.hpp"
#include "worker/worker.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// The graph of a model that generates, in another form than the portable one: prompt and steps with caches that keep
/// their length, or are the runtime's own. The portable graph stays beside it, as what it is verified against.
struct FormGraph {
  zoo::BuiltModel model;
  ModelInfo info;
  Generation generation{};  ///< its lengths are a cell's to set
};

/// `request` asks for a whole model and is left so. Errors: those of zoo::build; unsupported ("unsupported: form = …")
/// for a model whose prompt needs a graph of its own, or whose attention the form cannot express.
[[nodiscard]] Result<FormGraph> build_form(zoo::BuildRequest& request, zoo::Form form,
                                           const std::filesystem::path& file);

/// How a model is made whose cache is the runtime's own (EngineEntry::RuntimeCache::converter).
struct Stateful {
  std::filesystem::path program;  ///< the engine's converter
  EngineLocation runtime;         ///< of the release that the converter was built with
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  Cancelled cancelled{};
};

/// What the stateful model of a portable one will be: without its states, file and hash. Errors: unsupported, for a
/// model whose prompt needs a graph of its own.
[[nodiscard]] Result<FormGraph> stateful_form(const GenerationGraphs& portable);

/// OpenVINO's stateful model, made of the portable graphs into `file` (.xml, weights beside it). Errors: unsupported,
/// for a model whose prompt needs a graph of its own, and where the program does not run with this OpenVINO; timeout;
/// cancelled; internal: what it says.
[[nodiscard]] Result<FormGraph> make_stateful(const GenerationGraphs& portable, const Stateful& with,
                                              const std::filesystem::path& file);

/// The inputs of a graph of another form for the prompt that the portable graph has: the same values. `generation` has
/// the lengths of the cell.
[[nodiscard]] std::vector<InputRecipe> form_inputs(const ModelInfo& info, const Generation& generation,
                                                   const std::vector<InputRecipe>& portable);

}  // namespace assay
