// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "models/onnx/model_info.hpp"

namespace assay {
/// Opens and checks an ONNX file before any runtime sees it (docs/metrics.md, "What is refused").
/// Errors: not_found; invalid_argument (empty, truncated, not ONNX, cyclic, no outputs, an extent below -1, sizes that
/// overflow or exceed this machine's memory, external data too short or outside the folder: each names what and where);
/// not_found also for a missing external data file; unsupported (string, sequence, map, optional and other non-tensor
/// inputs and outputs, by name). Never crashes, whatever the bytes.
/// cancelled.
/// Cost: reads the weights once, for their hash; memory for the graph only.
[[nodiscard]] Result<ModelInfo> inspect_model(const std::filesystem::path& path, const Cancelled& cancelled = {});
/// The same without reading the weights: weights_hash stays empty.
[[nodiscard]] Result<ModelInfo> inspect_graph(const std::filesystem::path& path);

}  // namespace assay
