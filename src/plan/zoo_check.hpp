// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <assay/result.hpp>

namespace assay {

struct ZooCheckRequest {
  std::filesystem::path folder;  ///< of goldens, or one golden (docs/zoo.md has the layout)
  std::string engine = "onnxruntime";
  double timeout_s = 120;  ///< for one golden
  std::function<bool()> cancelled = [] { return false; };
};

/// What became of one golden. `passed`: every output agrees within its tolerance; `unsupported`: assay or the runtime
/// refuses it and names what it lacks; `failed`: everything else.
struct ZooCheckResult {
  std::string name, status, message;
  std::optional<double> worst;  ///< largest error as a share of its tolerance: at most 1 passes
  std::string worst_output;
  std::optional<double> max_abs_error;
};

/// Builds and runs every golden below the folder, in order of their names; what has no meta.json is none and is passed
/// over. `each` is called as they finish. Errors: not_found or invalid_argument for the folder or the engine.
[[nodiscard]] Status check_zoo(const ZooCheckRequest& request, const std::function<void(const ZooCheckResult&)>& each);

}  // namespace assay
