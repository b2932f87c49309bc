// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <assay/result.hpp>

#include "zoo/layers/attention.hpp"
#include "zoo/layers/build_context.hpp"

namespace assay::zoo {

// What wav2vec2 and its relatives do before their encoder's layers.

inline constexpr float kTorchEpsilon = 1e-5F;

struct Wav2Vec2Sizes {
  std::int64_t hidden, inner, layers;
  Heads heads;
  float epsilon;
  Integers widths, kernels, strides;  ///< of the feature convolutions
  bool stable;                        ///< norms before attention and feed-forward
  std::string feature_activation, activation;
};
/// Errors: invalid_argument.
[[nodiscard]] Result<Wav2Vec2Sizes> read_wav2vec2_sizes(const Config& config);

[[nodiscard]] inline const Wav2Vec2Variations& wav2vec2_variations(const Config& config) {
  return config.architecture().varied<Wav2Vec2Variations>();
}
/// A flag that not every architecture reads; false for those.
[[nodiscard]] inline bool flag_of(const Config& config, const std::string& key) {
  return config.has(key) && config.flag(key);
}

/// Strided convolutions. Shape: [B, samples] → [B, frames, channels].
[[nodiscard]] Result<Value> extract_sound_features(BuildContext& context, const Module& base, const Value& wave,
                                                   const Wav2Vec2Sizes& sizes);

struct ProjectedFeatures {
  Value hidden, features;
};
/// The features as wide as the layers, and what they were projected from.
[[nodiscard]] Result<ProjectedFeatures> project_sound_features(BuildContext& context, const Module& base,
                                                               const Value& features, const Wav2Vec2Sizes& sizes);

/// The convolution that stands for positions. Shape: [B, hidden, time]; with an even kernel the last step is cut.
[[nodiscard]] Result<Value> positional_convolution(BuildContext& context, const Module& encoder, const Value& input,
                                                   const Wav2Vec2Sizes& sizes, std::int64_t stride);

}  // namespace assay::zoo
