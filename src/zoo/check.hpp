// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "tensor/compare.hpp"
#include "tensor/recipe.hpp"
#include "zoo/zoo.hpp"

namespace assay::zoo {

// Golden folders: a configuration and weights with inputs and the outputs that Hugging Face's own code gave for them
// (docs/zoo.md, "Checking against goldens"). This makes them ready; whoever has an engine runs and compares them.

/// An output that the engine's must agree with.
struct GoldenOutput {
  std::string name;      ///< of the graph's output
  std::string expected;  ///< of the tensor in the file of expected outputs
  DType dtype = DType::kUndefined;
  Shape shape;
  bool masked = false;  ///< positions where `mask_input` is 0 do not count
};

/// The folder's past/: a prefill whose states go into one decode.
struct GoldenPast {
  BuiltModel prefill, decode;
  std::vector<InputRecipe> prefill_inputs, decode_inputs;  ///< those of decode without the states
  std::filesystem::path outputs_file;                      ///< past/outputs.safetensors
  /// What is compared, by the name in the file: "prefill_logits" with the prefill's logits, "step_logits" with
  /// decode's.
  std::vector<GoldenOutput> prefill_outputs, decode_outputs;
};

struct GoldenCase {
  std::string name;  ///< of the folder
  std::filesystem::path folder;
  BuiltModel model;
  std::vector<InputRecipe> inputs;     ///< read from inputs.safetensors
  std::filesystem::path outputs_file;  ///< outputs.safetensors
  std::vector<GoldenOutput> outputs;   ///< never empty
  std::string mask_input;              ///< "" when there is none
  Tolerance tolerance;
  std::optional<GoldenPast> past;
  /// Why the folder counts as unsupported even when its outputs agree: what its past/ asks for and assay refuses.
  std::optional<std::string> refused_part;
};

/// The golden folders in `directory`, by name: subfolders with a meta.json, or the folder itself when it has one.
/// Errors: not_found (no such folder), invalid_argument (there is none in it).
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_goldens(const std::filesystem::path& directory);

/// Builds a golden's model into `work`/NAME.onnx with the inputs that it gives, and those of its past/.
/// Errors: unsupported ("unsupported: KEY = VALUE", "unsupported: input NAME", "unsupported: output NAME"): the folder
/// counts as unsupported; any other: it counts as failed.
[[nodiscard]] Result<GoldenCase> prepare_golden(const std::filesystem::path& folder, const std::filesystem::path& work);

}  // namespace assay::zoo
