// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "models/inputs/fixed_extents.hpp"
#include "models/inputs/inputs.hpp"

namespace assay {

/// What an input is for, decided by its name and element type. Its values and the meaning of its dynamic extents
/// follow.
enum class InputRole {
  kMask,        ///< attention_mask, *_mask: 1 for a token, 0 for padding
  kOnes,        ///< pixel_mask
  kTokenTypes,  ///< token_type_ids, segment_ids
  kPositions,   ///< position_ids
  kIds,         ///< input_ids, and each input that selects rows of a constant table
  kLengths,     ///< *_length(s)
  kTimestep,    ///< the time step of a diffusion model
  kImage,       ///< pixel_values, images, floats of rank 4
  kMel,         ///< input_features: [batch, mel bands, frames]
  kWave,        ///< input_values: audio samples
  kOther,
};
[[nodiscard]] InputRole role_of(const ModelValue& input);

/// Whether an exporter made the symbol up ("s0", "unk__1"), so that it says nothing. In lower case.
[[nodiscard]] bool is_generated_symbol(std::string_view symbol);

/// One extent of an input, made concrete.
struct BoundExtent {
  std::int64_t extent = 0;
  bool batch = false;
  bool sequence = false;
};

/// Makes dynamic extents concrete, in this order: those that are fixed by name; an extent whose symbol was met before;
/// its symbol's words (those of InputAxes::extents, "batch", "seq", "past", "height", …; sums and multiples such as
/// "past_sequence_length + 1"); its place in an input of known role ([batch, sequence] for ids and masks, [batch, 3,
/// 224, 224] for images, 80 × 3000 for mel, 16000 samples for waves). A past is as long as the sequence.
class ExtentBinder {
 public:
  explicit ExtentBinder(const InputAxes& axes, FixedExtents fixed = {});
  /// Gives the open extents of `input` behind the first one those of `shape`, which has the rank of the input.
  void give(const ModelValue& input, const Shape& shape);
  /// nullopt: the extent is unknown.
  [[nodiscard]] std::optional<BoundExtent> bind(const ModelValue& input, std::size_t axis);

 private:
  [[nodiscard]] std::optional<BoundExtent> by_symbol(const std::string& symbol) const;
  [[nodiscard]] std::optional<BoundExtent> by_word(const std::string& word) const;
  [[nodiscard]] std::optional<BoundExtent> by_place(const ModelValue& input, std::size_t axis) const;

  InputAxes axes_;
  FixedExtents fixed_;
  std::map<std::string, BoundExtent> bound_;
  std::string given_input_;
  Shape given_;
};

}  // namespace assay
