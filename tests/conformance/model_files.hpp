// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "core/traits/engine_entry.hpp"
#include "models/lower/program.hpp"

namespace assay::conformance {

/// The shape of each input of a model.
using Shapes = std::map<std::string, Shape>;

/// Whether an engine gets models in another language, with extents that are all fixed.
inline bool lowers(const EngineEntry& engine) { return !engine.lowered_to.empty(); }

/// The file that an engine loads for `model`, an ONNX file: the model itself, or beside it what it is lowered to for
/// `shapes`. Errors: those of lowering.
inline Result<std::filesystem::path> file_for(const EngineEntry& engine, const std::filesystem::path& model,
                                              const Shapes& shapes) {
  if (!lowers(engine)) return model;
  ASSAY_TRY(const StaticModel opened, StaticModel::open(model));
  ASSAY_TRY(const lowering::Program program,
            lowering::lower(opened, {.shapes = shapes}, *lowering::dialect_from(engine.lowered_to)));
  std::filesystem::path file = std::filesystem::path(model).replace_extension(engine.lowered_to);
  ASSAY_CHECK_OK(lowering::write_program(program, file));
  return file;
}

}  // namespace assay::conformance
