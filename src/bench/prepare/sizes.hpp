// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/prepare/zoo_source.hpp"
#include "core/base/cancel.hpp"
#include "core/base/json.hpp"

namespace assay {

/// What may stand in for a model that does not fit: the smaller published checkpoints of its architecture and class,
/// largest first, then itself with a half, a quarter, … of its layers, down to a sixteenth of them.
/// Weights are the zoo's. After a cancellation there are fewer.
[[nodiscard]] std::vector<ZooSource> smaller_sizes(const ZooSource& source, const Cancelled& cancelled = {});

/// The configuration with its counts of layers, nested ones too, multiplied by `scale` and rounded, but not below 1.
/// Widths stay. Errors: unsupported, if it has no count of layers, or lists its layers one by one.
[[nodiscard]] Result<Json> scale_layers(Json config, double scale);
/// The model with that share of its layers, with the zoo's weights; `size` names it in its own. Errors: as above.
[[nodiscard]] Result<ZooSource> scaled(const ZooSource& source, double scale, std::string size);

}  // namespace assay
