// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <span>

#include "base/files.hpp"
#include "graph/specialise.hpp"
#include "inputs/inputs.hpp"
#include "onnx/inspect.hpp"
#include "onnx/perturb.hpp"

// Any bytes are refused with a reason, or describe a model that can get inputs and be perturbed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const assay::TemporaryDirectory folder = assay::TemporaryDirectory::create("assay-fuzz-").value();
  const std::filesystem::path path = folder.path() / "model.onnx";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const auto info = assay::inspect_model(path);
  if (!info) {
    if (info.error().message.empty()) std::abort();
    return 0;
  }
  if (info->outputs.empty()) std::abort();
  if (const auto inputs = assay::make_inputs(*info, {})) {
    assay::SpecialiseRequest request;
    for (const assay::InputRecipe& input : inputs->recipes) request.shapes[input.name] = input.shape;
    static_cast<void>(assay::specialise(path, request, folder.path() / "static.onnx"));
  }
  const auto moved = folder.path() / "moved" / "model.onnx";
  if (!assay::write_perturbed(path, assay::DType::kFloat16, 1, moved) || !assay::inspect_model(moved)) std::abort();
  return 0;
}
