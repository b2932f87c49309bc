// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <assay/result.hpp>

#include "inputs/inputs.hpp"
#include "worker/worker.hpp"
#include "zoo/zoo.hpp"

namespace assay {

/// The graphs of a model that gives one token after another, for timing: logits of the last position only.
struct GenerationGraphs {
  zoo::BuiltModel prompt;                 ///< of the prompt, and of the further tokens where `step` is absent
  std::optional<zoo::BuiltModel> step{};  ///< of the further tokens
  ModelInfo step_info{};                  ///< of the graph that runs them
  /// What both have; its lengths are a cell's to set.
  Generation generation{};
  bool prompt_in_states = true;  ///< false: the states begin with one token, as an encoder-decoder's do

  /// What the states hold after a prompt of `sequence` tokens, those of its image beside them. `info`: of the prompt's
  /// graph.
  [[nodiscard]] std::int64_t prompt_tokens(const ModelInfo& info, std::int64_t sequence) const {
    if (!prompt_in_states) return 1;
    return sequence + (info.image ? info.image->count : 0);
  }
};

/// How the two go together, with no lengths yet. `info`: of the step's graph.
[[nodiscard]] Generation describe_generation(const zoo::BuiltModel& prompt, const zoo::BuiltModel& step,
                                             const ModelInfo& info);

/// Builds them into `folder` (model.onnx, step.onnx). nullopt: the model does not generate, or not in a way that assay
/// can drive. `request` asks for a whole model and is left so. Errors: those of zoo::build.
[[nodiscard]] Result<std::optional<GenerationGraphs>> build_generation(zoo::BuildRequest& request,
                                                                       const std::filesystem::path& folder);

/// The prompt's inputs of a cell: the past empty, one token for a decoder that has an encoder, and no padding. Before
/// the tokens that `axes` asks for stand those of the prompt's image, where it has one; such ids lie in `axes.cache`.
/// Errors: those of make_inputs; internal (disk full).
[[nodiscard]] Result<ModelInputs> prompt_inputs(const ModelInfo& prompt, InputAxes axes);

/// The shapes of a further token's inputs after `past` ones, as make_inputs makes them of the same `axes`. Errors:
/// unsupported, for an extent that only the prompt's run tells.
[[nodiscard]] Result<ModelInputs> step_inputs(const GenerationGraphs& graphs, InputAxes axes, std::int64_t past);

}  // namespace assay
