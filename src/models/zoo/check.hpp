// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/compare.hpp"
#include "core/tensor/recipe.hpp"
#include "models/zoo/zoo.hpp"

namespace assay::zoo {

// Golden folders: a configuration and weights with inputs and the outputs that Hugging Face's own code gave for them
// (docs/zoo.md, "Checking against goldens"). This header prepares them; the caller runs them on an engine and compares.

/// The subfolder past/ of a golden: a run over the prompt (prefill) whose KV cache (states) goes into the run of one
/// more token (decode).
struct GoldenPast {
  BuiltModel prefill, decode;
  std::vector<InputRecipe> prefill_inputs, decode_inputs;  ///< decode_inputs has no states: they come from prefill
  /// What each must compute, under the graphs' names: "prefill_logits" and "step_logits" are both `logits`.
  std::filesystem::path prefill_expected, decode_expected;
};

struct GoldenCase {
  std::string name;  ///< name of the folder
  std::filesystem::path folder;
  BuiltModel model;
  std::vector<InputRecipe> inputs;  ///< read from inputs.safetensors
  std::filesystem::path expected;   ///< outputs.safetensors: at least one, each an output of the model
  Tolerance tolerance;
  std::optional<GoldenPast> past;
  /// Why the folder counts as unsupported even when its outputs agree: what its past/ requires and assay refuses.
  std::optional<std::string> refused_part;
};

/// The golden folders in `directory`, by name: subfolders with a meta.json, or the folder itself when it has one.
/// Errors: not_found (no such folder), invalid_argument (there is none in it).
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_goldens(const std::filesystem::path& directory);

/// The request to build() for a golden: its model with the golden's weights and the inputs that it gives.
struct GoldenRequests {
  BuildRequest whole;
  /// Those of past/. nullopt: the folder has none.
  std::optional<BuildRequest> prefill, decode;
};
/// Errors: those of prepare_golden(), except the errors of build().
[[nodiscard]] Result<GoldenRequests> golden_requests(const std::filesystem::path& folder);

/// Builds a golden's model into `work`/NAME.onnx with the inputs that it gives, and those of its past/.
/// Errors: unsupported ("unsupported: KEY = VALUE", "unsupported: input NAME", "unsupported: output NAME"): the folder
/// counts as unsupported; any other: it counts as failed.
[[nodiscard]] Result<GoldenCase> prepare_golden(const std::filesystem::path& folder, const std::filesystem::path& work);

}  // namespace assay::zoo
