// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "models/inputs/given_shapes.hpp"
#include "models/onnx/model_info.hpp"

namespace assay {

/// What given shapes mean for one model.
///
/// B follows the batch, S the sequence length. A number for the first extent that is the batch fixes it, if no other
/// extent is B: the model then runs at that batch only. A number for another batch (of a second input) is its extent
/// and nothing more. The sequence length likewise, where the extent has the symbol of the first sequence axis, or one
/// of the two has none.
struct FixedExtents {
  struct Extent {
    std::int64_t value = 0;  ///< the extent, or kBatchExtent (any batch), kSequenceExtent (any sequence length)
    bool batch = false;      ///< it is the batch
    bool sequence = false;   ///< it is the sequence length
  };
  std::optional<std::int64_t> batch{};                             ///< the only batch
  std::optional<std::int64_t> sequence{};                          ///< the only sequence length
  std::map<std::pair<std::string, std::size_t>, Extent> places{};  ///< extents without a symbol, by input and axis
  std::map<std::string, Extent> symbols{};      ///< extents with a symbol, by the symbol in lower case
  std::map<std::string, std::int64_t> terms{};  ///< likewise, also symbols that are only in sums: past_length + 1

  /// nullptr: not given.
  [[nodiscard]] const Extent* find(const ModelValue& input, std::size_t axis) const;
};

/// Errors: invalid_argument, which shows the model's inputs: a name that it does not have (with the nearest), another
/// rank or type, an extent that the model fixes otherwise, two values for one symbol.
[[nodiscard]] Result<FixedExtents> fix_extents(const ModelInfo& model, const GivenShapes& given);

/// `model`, whose inputs without a rank have that of their given shape.
[[nodiscard]] ModelInfo with_given_ranks(ModelInfo model, const GivenShapes& given);

/// "x float32 [N, 3, height, width], ids int64 [N, ?]": the inputs with their symbols.
[[nodiscard]] std::string inputs_text(const ModelInfo& model);

/// The inputs with an extent that is given and is neither the batch nor the sequence length, in the same words however
/// it was given: "x:Bx3x48x320". "": there are none.
[[nodiscard]] std::string given_text(const ModelInfo& model, const FixedExtents& fixed);

/// The same for a file that does not say its shapes, so that the given ones are all that is known of it. `batch`: the
/// only one, if it is fixed.
[[nodiscard]] std::string given_text(const std::vector<GivenShape>& shapes, std::optional<std::int64_t> batch);

/// Which open extents options are shown for.
enum class OpenExtents {
  kWithoutRule,  ///< those that no rule of assay gives
  kByRule,       ///< also those that a rule gives, but not batch and sequence length
  kEvery,        ///< also the sequence length
};
/// The options that give open extents, with the model's names, to be completed: "--shape x:Bx3xHxW, or --dim height=N
/// --dim width=N". "": there are none of these.
[[nodiscard]] std::string shape_options(const ModelInfo& model, const FixedExtents& fixed, OpenExtents which);

}  // namespace assay
