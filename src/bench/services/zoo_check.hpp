// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/traits/engine_entry.hpp"

namespace assay {

struct ZooCheckRequest {
  std::filesystem::path folder;  ///< a folder of goldens, or one golden (docs/zoo.md has the layout)
  std::vector<std::string> engines{kReferenceEngine};
  double timeout_s = 120;  ///< time limit of one golden on one engine
  std::function<bool()> cancelled = [] { return false; };
  bool specialise = false;  ///< run each model as specialise() writes it for the golden's shapes
  /// Folder for the models: NAME.onnx, NAME.static.onnx, NAME.DIALECT; empty: they are not kept.
  std::filesystem::path keep{};
};

/// The requested engines; all are looked for before any runs.
struct ZooCheckEngines {
  std::vector<std::string> usable, not_built;
  std::vector<Error> unavailable;  ///< why, and how to get it
};
/// Errors: not_found for an unknown name, with those known; invalid_argument for an engine that computes no model.
[[nodiscard]] Result<ZooCheckEngines> zoo_check_engines(const std::vector<std::string>& names);

/// The result of one golden. `passed`: every output agrees within its tolerance, on every engine; `unsupported`: assay
/// or a runtime refuses it and names what is missing; `failed`: everything else. It fails if it fails on one engine.
struct ZooCheckResult {
  std::string name, status, message;
  std::vector<std::pair<std::string, std::string>> by_engine;  ///< each engine's own status, in the requested order
  std::optional<double> worst;  ///< largest error as a share of its tolerance: at most 1 passes
  std::string worst_output;
  std::optional<double> max_abs_error;
};

/// Builds and runs every golden below the folder, in order of their names; a folder without meta.json is not a golden
/// and is left out. A specialised model whose shapes are not all static fails, and the node is named. `each` is called
/// as they finish.
/// Errors: not_found or invalid_argument for the folder or the engine.
[[nodiscard]] Status check_zoo(const ZooCheckRequest& request, const std::function<void(const ZooCheckResult&)>& each);

}  // namespace assay
