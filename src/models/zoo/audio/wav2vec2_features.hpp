// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <assay/result.hpp>

#include "models/zoo/layers/attention.hpp"
#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

// wav2vec2 and its relatives: the parts before the layers of the encoder.

inline constexpr float kTorchEpsilon = 1e-5F;  ///< the default of torch's norms

struct Wav2Vec2Sizes {
  std::int64_t hidden, inner, layers;
  Heads heads;
  float epsilon;
  Integers widths, kernels, strides;  ///< sizes of the feature extractor's convolutions
  bool stable;                        ///< true: norms are before attention and MLP; false: behind them
  std::string feature_activation, activation;
};
/// Errors: invalid_argument, for sizes that contradict each other.
[[nodiscard]] Result<Wav2Vec2Sizes> read_wav2vec2_sizes(const Config& config);

[[nodiscard]] inline const Wav2Vec2Variations& wav2vec2_variations(const Config& config) {
  return config.architecture().varied<Wav2Vec2Variations>();
}
/// The value of a flag; false if the architecture does not have the key.
[[nodiscard]] inline bool flag_of(const Config& config, const std::string& key) {
  return config.has(key) && config.flag(key);
}

/// The feature extractor: strided convolutions. Shape: [B, samples] → [B, frames, channels].
[[nodiscard]] Result<Value> extract_sound_features(BuildContext& context, const Module& base, const Value& wave,
                                                   const Wav2Vec2Sizes& sizes);

struct ProjectedFeatures {
  Value hidden;    ///< [B, frames, hidden]
  Value features;  ///< features before the projection, [B, frames, channels]
};
/// Projects the features to the width of the layers.
[[nodiscard]] Result<ProjectedFeatures> project_sound_features(BuildContext& context, const Module& base,
                                                               const Value& features, const Wav2Vec2Sizes& sizes);

/// The convolution that models of this family have instead of a position table. Shape: [B, hidden, time]; if the kernel
/// is even, the last time step is removed.
[[nodiscard]] Result<Value> positional_convolution(BuildContext& context, const Module& encoder, const Value& input,
                                                   const Wav2Vec2Sizes& sizes, std::int64_t stride);

}  // namespace assay::zoo
