// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <assay/result.hpp>

#include "core/base/json.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// How one input's values are made. The worker gets the recipe instead of the values.
enum class Fill {
  kNormal,       ///< N(0, 1) scaled by `high` (standard deviation), shifted by `low` (mean); floating types
  kUniform,      ///< uniform in [low, high); floating types
  kInteger,      ///< uniform in [low, high]; integer types, and bool with 0 and 1
  kPaddingMask,  ///< [B, S] (or any last axis S): ones; in the set kPaddedSet ones, then zeros: each row has a seeded
                 ///< length of at least half of S and less than S. `high` above 1: only that many first columns may be
                 ///< padding, later ones are ones
  kTokenTypes,   ///< [B, S]: zeros, then ones from a seeded position; high = number of types - 1
  kPositions,    ///< 0, 1, 2, … along the last axis
  kConstant,     ///< all `low`
  kFile,  ///< read from `file`: an .npy, or the tensor `name` of a .safetensors. Other kinds are converted before
          ///< (core/tensor/npz.hpp, models/onnx/tensor_pb.hpp)
};

/// The input set with padding. It is verified and never timed: the others have none, whatever the batch.
inline constexpr std::size_t kPaddedSet = 1;

/// "normal", "uniform", "integer", "padding_mask", "token_types", "positions", "constant", "file".
[[nodiscard]] std::string_view to_string(Fill fill);
[[nodiscard]] std::optional<Fill> fill_from(std::string_view name);

struct InputRecipe {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;  ///< concrete
  Fill fill = Fill::kNormal;
  double low = 0.0;
  double high = 1.0;
  std::filesystem::path file{};
};

/// The values of input set `set`: a pure function of (recipe, seed, set), the same on every machine. With kFile every
/// set is the file's value. Errors: unsupported (a dtype the fill cannot make), not_found, mismatch (file's dtype or
/// shape), out_of_memory.
[[nodiscard]] Result<Tensor> make_input(const InputRecipe& recipe, std::uint64_t seed, std::size_t set);

/// The number of input sets of a cell: `wanted`, fewer if they are large, but at least two, and three if one has
/// padding. One if every input comes from a file, because all sets are the same then, and if there are no inputs.
[[nodiscard]] std::size_t set_count(const std::vector<InputRecipe>& recipes, std::size_t wanted);
/// Whether set kPaddedSet has padding.
[[nodiscard]] bool has_padding(const std::vector<InputRecipe>& recipes);
/// The sets that are timed: all of `count`, except the one with padding.
[[nodiscard]] std::vector<std::size_t> timed_sets(const std::vector<InputRecipe>& recipes, std::size_t count);

[[nodiscard]] Json to_json(const InputRecipe& recipe);
[[nodiscard]] Result<InputRecipe> recipe_from_json(const Json& json);

/// SHA-256 over recipes, seed and number of sets: the identity of the inputs of a measurement. kFile hashes the bytes.
[[nodiscard]] Result<std::string> input_hash(const std::vector<InputRecipe>& recipes, std::uint64_t seed,
                                             std::size_t sets);

}  // namespace assay
