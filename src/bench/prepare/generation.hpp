// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

#include <assay/result.hpp>

#include "bench/worker/worker.hpp"
#include "models/inputs/inputs.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// The graphs of a generative model, for timing: logits of the last position only.
struct GenerationGraphs {
  zoo::BuiltModel prompt;                 ///< runs the prompt, and also the further tokens if `step` is absent
  std::optional<zoo::BuiltModel> step{};  ///< runs the further tokens
  ModelInfo step_info{};                  ///< describes the graph that runs the further tokens
  /// What both have in common; a cell sets the lengths.
  Generation generation{};
  bool prompt_in_states = true;  ///< false: the states begin with one token, as an encoder-decoder's do

  /// The number of tokens in the states after a prompt of `sequence` tokens; those of an image are added. `info`: of
  /// the prompt's graph.
  [[nodiscard]] std::int64_t prompt_tokens(const ModelInfo& info, std::int64_t sequence) const {
    if (!prompt_in_states) return 1;
    return sequence + (info.image ? info.image->count : 0);
  }
};

/// How the two graphs work together, without lengths. `info`: of the step's graph.
[[nodiscard]] Generation describe_generation(const zoo::BuiltModel& prompt, const zoo::BuiltModel& step,
                                             const ModelInfo& info);

/// Builds them into `folder` (model.onnx, step.onnx). nullopt: the model does not generate, or not in a way that assay
/// can run. `request` is for a whole model and is not changed. `check` is called with the first graph, before it is
/// looked into and another is built. Errors: those of zoo::build and of `check`.
[[nodiscard]] Result<std::optional<GenerationGraphs>> build_generation(
    zoo::BuildRequest& request, const std::filesystem::path& folder,
    const std::function<Status(const zoo::BuiltModel&)>& check = {});

/// The prompt's inputs of a cell: the past empty, one token for a decoder that has an encoder. Before the tokens that
/// `axes` requests are those of the prompt's image, if it has one; such ids are files in `axes.cache`. Errors: those of
/// make_inputs; internal (disk full).
[[nodiscard]] Result<ModelInputs> prompt_inputs(const ModelInfo& prompt, InputAxes axes);

/// The shapes of a further token's inputs after `past` tokens, as make_inputs makes them from the same `axes`. Errors:
/// unsupported, for an extent that depends on the prompt's run.
[[nodiscard]] Result<ModelInputs> step_inputs(const GenerationGraphs& graphs, InputAxes axes, std::int64_t past);

}  // namespace assay
