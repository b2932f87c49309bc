// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/input_axes.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::int64_t kImageSide = 224;
constexpr std::int64_t kColours = 3;
constexpr std::int64_t kMelBands = 80;
constexpr std::int64_t kMostMelBands = 256;
constexpr std::int64_t kMelFrames = 3000;     // Whisper's thirty seconds
constexpr std::int64_t kWaveSamples = 16000;  // one second at 16 kHz
constexpr std::int64_t kVideoFrames = 8;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view w) { return text.find(w) != std::string_view::npos; });
}

// [layers, batch, hidden], as recurrent layers have it.
bool is_recurrent_state(const ModelValue& input) {
  const std::string name = lower(input.name);
  return input.shape.size() == 3 && input.shape[0] > 0 && input.shape[2] > 0 &&
         (name.find("state") != std::string::npos || is_any(name, {"h", "c", "h0", "c0", "h_0", "c_0", "hx", "cx"}));
}

}  // namespace

// Single letters, too: their place says more.
bool is_generated_symbol(std::string_view symbol) {
  if (symbol.size() == 1) return true;
  if (contains_any(symbol, {"unk__", "dynamic_axes", "dynamicdimension", "unnamed_dim", "?"})) return true;
  if (is_any(symbol, {"none", "dynamic"})) return true;
  const std::size_t digits = symbol.find_first_of("0123456789");
  return digits != std::string_view::npos && symbol.find_first_not_of("0123456789", digits) == std::string_view::npos &&
         is_any(symbol.substr(0, digits), {"s", "d", "u", "i", "dim", "dim_", "axis", "axis_"});
}

ExtentBinder::ExtentBinder(const InputAxes& axes, FixedExtents fixed) : axes_(axes), fixed_(std::move(fixed)) {
  for (const auto& [term, extent] : fixed_.terms) axes_.extents.insert_or_assign(term, extent);
}

InputRole role_of(const ModelValue& input) {
  const std::string name = lower(input.name);
  if (name.find("pixel_mask") != std::string::npos) return InputRole::kOnes;
  if (name.find("mask") != std::string::npos && name.find("masked") == std::string::npos) return InputRole::kMask;
  if (contains_any(name, {"timestep", "time_step"})) return InputRole::kTimestep;
  if (!is_floating(input.dtype)) {
    if (contains_any(name, {"token_type", "segment"})) return InputRole::kTokenTypes;
    if (name.find("position") != std::string::npos) return InputRole::kPositions;
    if (input.index_limit || contains_any(name, {"ids", "tokens"})) return InputRole::kIds;
    if (name.find("length") != std::string::npos) return InputRole::kLengths;
    return input.shape.size() == 4 ? InputRole::kImage : InputRole::kOther;
  }
  if (contains_any(name, {"input_features", "mel"})) return InputRole::kMel;
  if (contains_any(name, {"input_values", "wave", "audio"})) return InputRole::kWave;
  if (name.find("past") != std::string::npos || name.find("key_values") != std::string::npos) return InputRole::kOther;
  if (contains_any(name, {"pixel", "image"}) || input.shape.size() == 4) return InputRole::kImage;
  return InputRole::kOther;
}

std::optional<BoundExtent> ExtentBinder::by_word(const std::string& word) const {
  if (const auto number = parse_number<std::int64_t>(word)) return BoundExtent{*number};
  if (const auto known = axes_.extents.find(word); known != axes_.extents.end()) return BoundExtent{known->second};
  if (word.find("batch") != std::string::npos && !contains_any(word, {"seq", "len"}))
    return BoundExtent{axes_.batch, true, false};
  if (word.find("total") != std::string::npos) return BoundExtent{2 * axes_.sequence, false, true};
  if (contains_any(word, {"seq", "len", "past", "token", "text", "time", "context", "words"})) {
    return BoundExtent{axes_.sequence, false, true};
  }
  if (contains_any(word, {"height", "width", "image_size"})) return BoundExtent{kImageSide};
  if (word.find("channel") != std::string::npos) return BoundExtent{kColours};
  if (word.find("mel") != std::string::npos || word == "feature_size") return BoundExtent{kMelBands};
  if (word.find("frames") != std::string::npos) return BoundExtent{kVideoFrames};
  return std::nullopt;
}

// A sum of words, each perhaps times or through a number: "past_sequence_length + sequence_length", "seq / 2".
std::optional<BoundExtent> ExtentBinder::by_symbol(const std::string& symbol) const {
  BoundExtent sum;
  for (const std::string& part : split(symbol, '+')) {
    const std::size_t sign = part.find_first_of("*/");
    auto term = by_word(std::string(trim(std::string_view(part).substr(0, sign))));
    if (!term) return std::nullopt;
    if (sign != std::string::npos) {
      const auto factor = parse_number<std::int64_t>(trim(std::string_view(part).substr(sign + 1)));
      if (!factor || *factor < 1 || *factor > 4096) return std::nullopt;
      term->extent = part[sign] == '*' ? term->extent * *factor : term->extent / *factor;
    }
    sum.extent += term->extent;
    sum.batch = sum.batch || term->batch;
    sum.sequence = sum.sequence || term->sequence;
  }
  return sum;
}

std::optional<BoundExtent> ExtentBinder::by_place(const ModelValue& input, std::size_t axis) const {
  const std::size_t rank = input.shape.size();
  const BoundExtent batch{axes_.batch, true, false}, sequence{axes_.sequence, false, true};
  const InputRole role = role_of(input);
  if (role == InputRole::kWave && axis + 1 == rank && axis > 0) return BoundExtent{kWaveSamples};
  if (axis == 0) return batch;
  switch (role) {
    case InputRole::kImage: {
      const bool channels_last = rank == 4 && (input.shape[3] == 1 || input.shape[3] == kColours);
      if (rank < 3) return std::nullopt;
      if (rank == 5 && axis == 1) return BoundExtent{kVideoFrames};
      if (channels_last ? axis < 3 : axis + 2 >= rank) return BoundExtent{kImageSide};
      return BoundExtent{kColours};
    }
    case InputRole::kOnes:
      return BoundExtent{kImageSide};
    case InputRole::kMel:
      if (rank != 3) return std::nullopt;
      return axis == 1 ? BoundExtent{kMelBands} : BoundExtent{kMelFrames};
    case InputRole::kMask:
      return sequence;
    case InputRole::kTokenTypes:
    case InputRole::kPositions:
    case InputRole::kIds:
      return axis == 1 ? std::optional(sequence) : std::nullopt;
    case InputRole::kOther:
      if (axis != 1 || rank != 3) return std::nullopt;
      return is_recurrent_state(input) ? batch : sequence;
    default:
      return std::nullopt;
  }
}

void ExtentBinder::give(const ModelValue& input, const Shape& shape) {
  given_input_ = input.name;
  given_ = shape;
}

std::optional<BoundExtent> ExtentBinder::bind(const ModelValue& input, std::size_t axis) {
  if (input.shape[axis] >= 0) return BoundExtent{input.shape[axis]};
  if (const FixedExtents::Extent* fixed = fixed_.find(input, axis)) {
    const std::int64_t extent = fixed->value == kBatchExtent      ? axes_.batch
                                : fixed->value == kSequenceExtent ? axes_.sequence
                                                                  : fixed->value;
    return BoundExtent{extent, fixed->batch, fixed->sequence};
  }
  const std::string symbol = axis < input.symbols.size() ? lower(trim(input.symbols[axis])) : "";
  if (const auto it = bound_.find(symbol); it != bound_.end()) return it->second;
  // Audio models name their axes like text, but 128 samples or frames are too few for their convolutions. Features of
  // which the last axis is fixed are frames in sequence: what else is of their length is a mask.
  const bool bands_first = input.shape.size() < 3 || input.shape[2] < 0 || input.shape[2] > kMostMelBands;
  const bool audio =
      axis > 0 && (role_of(input) == InputRole::kWave ||
                   (role_of(input) == InputRole::kMel &&
                    ((input.shape[1] < 0 && bands_first) || input.shape[1] == kMelBands || input.shape[1] == 128)));
  std::optional<BoundExtent> found;
  if (axis > 0 && !given_.empty() && input.name == given_input_) found = BoundExtent{given_[axis]};
  if (!found && audio) found = by_place(input, axis);
  if (!found && !symbol.empty() && !is_generated_symbol(symbol)) found = by_symbol(symbol);
  if (!found && (symbol.empty() || is_generated_symbol(symbol) || axis == 0)) found = by_place(input, axis);
  if (found && !symbol.empty() && !audio) bound_.emplace(symbol, *found);
  return found;
}

}  // namespace assay
