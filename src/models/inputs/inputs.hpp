// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/recipe.hpp"
#include "models/inputs/given_shapes.hpp"
#include "models/onnx/model_info.hpp"

namespace assay {
/// What the recipes of an input depend on.
struct InputAxes {
  std::int64_t batch = 1;
  std::int64_t sequence = 128;    ///< needed (above 0) only by models with a sequence axis
  std::filesystem::path data{};   ///< --data: arrays by name of the input, or images
  std::filesystem::path cache{};  ///< folder for converted .npz and .pb; needed if there are such files
  /// The extents of symbols that are known otherwise ("past": 0), by the symbol in lower case.
  std::map<std::string, std::int64_t> extents{};
  /// --input-shape: the shape of the image input, of a model without one of the first input; with the batch in front or
  /// without it. Empty: not requested.
  Shape input_shape{};
  GivenShapes given{};  ///< --shape and --dim: they win over `sequence` (models/inputs/fixed_extents.hpp)
};

struct ModelInputs {
  std::vector<InputRecipe> recipes;   ///< one for each input, in the model's order
  bool uses_batch = false;            ///< some extent follows the batch
  bool uses_sequence = false;         ///< some extent follows the sequence length
  std::int64_t images = 0;            ///< number of image files in the inputs
  std::int64_t images_found = 0;      ///< number of image files that were found
  std::filesystem::path images_as{};  ///< the preprocessor_config.json that they follow; empty: the default
};

/// How to make realistic inputs for these shapes: ids in range of the embedding they index (else below 1000), masks
/// with padding, token types, positions, N(0,1) pixels and waves, small integers. Dynamic extents follow from their
/// symbol or place (models/inputs/input_axes.hpp), unless they are given; an unknown one is refused by name, with the
/// way to give it.
///
/// With `data`, inputs come from files: NAME.npy or NAME.pb ('/' and ':' in the name as '_'), input_0.npy or input_0.pb
/// in the model's order, all arrays of an .npz or .safetensors by name; a folder's test_data_set_0 is looked into. An
/// array for which there is no input, and a second array for the same input, are refused; other files and output_* are
/// ignored. A folder of JPEG and PNG files and subfolders, without arrays, gives the values of the image input: the
/// first images, as many as the batch (models/inputs/image_folder.hpp).
///
/// Errors: fixed_shape when the file or the data has another batch than the
/// requested one; invalid_argument: a given shape does not fit (check_input_shape); unsupported, by name: an element
/// type for which assay cannot make values; mismatch: data of another type or shape; not_found: data for an input;
/// invalid_argument: data for a name that is not an input, among others.
[[nodiscard]] Result<ModelInputs> make_inputs(const ModelInfo& model, const InputAxes& axes);

/// Whether the model can have the shapes that `axes` gives. Errors: those of fix_extents; invalid_argument, with the
/// valid shape of `axes.input_shape`; also for an input with a sequence axis, whose shape follows the sequence length.
[[nodiscard]] Status check_input_shape(const ModelInfo& model, const InputAxes& axes);

/// The arrays in `axes.data`, as inputs of a model: by name, with type and shape. For models that do not describe their
/// inputs. Errors: not_found, invalid_argument: no such file or folder, or one that cannot be read.
[[nodiscard]] Result<std::vector<ModelValue>> values_in_data(const InputAxes& axes);

/// The only batch size that a model runs at: that of the data if data is given; else that of the given shapes, if they
/// have one; else the first extent that all inputs have in common, if it is fixed. nullopt: dynamic, or no batch axis
/// (then only batch 1 is accepted).
[[nodiscard]] Result<std::optional<std::int64_t>> fixed_batch(const ModelInfo& model, const InputAxes& axes = {});

/// Inputs with known outputs, as the ONNX model zoo keeps them beside a model: test_data_set_0/{input,output}_N.pb.
struct GivenData {
  std::vector<InputRecipe> inputs;
  std::filesystem::path outputs;  ///< .safetensors, by output name
  std::filesystem::path folder;   ///< the folder test_data_set_0
};
/// nullopt: the model has none. Both are converted into the folder `cache`. Errors: invalid_argument, mismatch (files
/// that do not fit the model).
[[nodiscard]] Result<std::optional<GivenData>> find_given_data(const ModelInfo& model,
                                                               const std::filesystem::path& cache);

}  // namespace assay
