// SPDX-License-Identifier: Apache-2.0
#include "models/model/ways.hpp"

namespace assay {

std::string_view ways_to_name_a_model() {
  return "a file (.onnx; .xml of OpenVINO IR; .pt, .pth, .jit or .torchscript of TorchScript; .stablehlo, .mlir), a "
         "folder with model.onnx or with config.json and perhaps model.safetensors, a name of the zoo such as bert or "
         "resnet50, zoo:NAME for that without the hub, or a Hugging Face id such as google-bert/bert-base-uncased";
}

}  // namespace assay
