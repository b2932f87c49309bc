// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <assay/result.hpp>

#include "models/zoo/towers/two_tower.hpp"

namespace assay::zoo {

/// CLAP's audio tower (a clap_audio_model) at `base`: takes input_features [B, 1, frames, mels]; `hidden` are the
/// tokens of its last stage, `pooled` their mean. Errors: unsupported, invalid_argument.
[[nodiscard]] Result<Tower> clap_audio_tower(const Module& base, const Config& config, Inputs& inputs,
                                             const std::string& batch);

}  // namespace assay::zoo
