// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "core/base/json.hpp"

namespace assay::cli {

// The ONNX operators that assay lowers for an engine: `assay engines --ops`.

/// `name`: of one engine; "": all engines that get lowered models. Errors: unsupported: the engine reads ONNX files
/// itself, or no ONNX model runs on it.
[[nodiscard]] Result<std::vector<const EngineEntry*>> engines_with_operators(const EngineRegistry& registry,
                                                                             const std::string& name);

[[nodiscard]] Json operators_json(const std::vector<const EngineEntry*>& engines);
/// A line for each operator: its versions, and the limits of what is implemented.
[[nodiscard]] std::string operators_text(const std::vector<const EngineEntry*>& engines);
/// docs/operators.md.
[[nodiscard]] std::string operators_markdown(const std::vector<const EngineEntry*>& engines);

}  // namespace assay::cli
