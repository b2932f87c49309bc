// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "bench/engine/registry.hpp"
#include "bench/services/zoo_specialise.hpp"
#include "core/base/cancel.hpp"
#include "models/hub/hub.hpp"
#include "models/lower/program.hpp"
#include "models/zoo/zoo.hpp"

namespace assay {

/// A format that a lowered model can be written in.
struct LoweredFormat {
  lowering::Dialect dialect = lowering::Dialect::kTorchScript;
  /// The engine that writes the file from the lowered model; empty: the text is the file.
  std::string engine{};
};

/// The format that the extension of `file` means: a dialect ("m.stablehlo", "m.mlir"), or a file that an engine saves
/// ("m.pt"). nullopt: ONNX, also without an extension. Errors: invalid_argument for every other extension ("m.xml").
[[nodiscard]] Result<std::optional<LoweredFormat>> lowered_format(const std::filesystem::path& file,
                                                                  const EngineRegistry& registry);

struct ZooLowered {
  zoo::BuiltModel built;                              ///< `path` is the output
  std::vector<std::pair<std::string, Shape>> shapes;  ///< name and shape of each input
};

/// `assay zoo build MODEL -o FILE` in such a format: builds the model, and lowers it for one set of shapes, those of
/// make_inputs(). A text has its signature in FILE.json and its weights in FILE.weights beside it. An engine's file is
/// written by a worker. Errors: those of build_by_name, extents_for, lower and Worker; not_found: the engine's runtime
/// is not here; unsupported: the engine cannot save.
[[nodiscard]] Result<ZooLowered> lower_by_name(const ZooSpecialiseRequest& request, const LoweredFormat& format,
                                               const EngineRegistry& registry, hub::Hub& hub,
                                               const Cancelled& cancelled);

}  // namespace assay
