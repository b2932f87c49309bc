// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "bench/plan/plan.hpp"

// Models, targets and settings made by hand: no file is read, no engine is asked.
namespace assay::testing {

inline ModelValue model_value(const std::string& name, DType dtype, Shape shape, std::vector<std::string> symbols) {
  return {.name = name, .dtype = dtype, .shape = std::move(shape), .symbols = std::move(symbols)};
}

/// A text encoder in a file: ids [batch, sequence] → hidden [batch, sequence, 8].
inline PreparedModel text_model() {
  PreparedModel model;
  model.choice.name = model.identity.model = "text";
  model.identity.family = "embedding";
  model.identity.weights = Weights::kSeeded;
  model.identity.graph_hash = "graph";
  model.artefact.file = "/models/text.onnx";
  model.format = "onnx";
  model.info.emplace();
  model.info->inputs = {model_value("input_ids", DType::kInt64, {-1, -1}, {"batch", "sequence"})};
  model.info->outputs = {model_value("hidden", DType::kFloat32, {-1, -1, 8}, {"batch", "sequence", ""})};
  model.signatures.emplace("", Signature{*model.info, true, std::nullopt});
  return model;
}

/// An image classifier, which has no sequence: pixels [batch, 3, 4, 4].
inline PreparedModel image_model() {
  PreparedModel model = text_model();
  model.choice.name = model.identity.model = "image";
  model.identity.family = "vision";
  model.info->inputs = {model_value("pixels", DType::kFloat32, {-1, 3, 4, 4}, {"batch", "", "", ""})};
  model.signatures.clear();
  model.signatures.emplace("", Signature{*model.info, false, std::nullopt});
  return model;
}

inline Target target_on(const std::string& engine, const std::string& hardware = "cpu") {
  Target target;
  target.hardware = hardware;
  target.engine = engine;
  target.found.available = true;
  target.found.version = "1.0";
  target.found.entry.name = engine;
  target.found.entry.formats = {"onnx"};
  target.device.id = hardware;
  return target;
}

inline Target missing_target(const std::string& hardware) {
  Target target;
  target.hardware = hardware;
  target.engine = kReferenceEngine;
  target.refusal = Refusal{CellStatus::kUnavailable, Reason::kNoHardware, "there is none", "buy one"};
  return target;
}

inline RunInfo run_info() {
  RunInfo run;
  run.run_id = "3f0c3d2a-0000-4000-8000-000000000001";
  run.host = "test";
  run.tool_version = "0.1.0";
  run.hardware_fingerprint = "test machine";
  return run;
}

}  // namespace assay::testing
