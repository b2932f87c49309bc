// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <filesystem>
#include <span>
#include <vector>

#include <assay/result.hpp>

#include "onnx/onnx_tensor.hpp"

namespace assay {

/// Which parts of a model's file go into another one, and what is added. Nodes and tensors are named by their place in
/// the graph; nothing else of it is chosen but inputs, outputs and value_info, which are only those of `added`.
struct ModelParts {
  onnx::ModelProto head;  ///< ir_version and further opset imports; nothing that the file has
  std::vector<int> nodes;
  std::vector<bool> initializers;         ///< one for each
  std::vector<bool> sparse_initializers;  ///< one for each
  onnx::GraphProto added;                 ///< its nodes come before those that are kept
  onnx::GraphProto constants;             ///< its initialisers come behind them
};

/// Copies what is kept byte by byte, makes the external data of `kept`, the tensors among it, be there for `output`
/// (see specialise()), and then replaces `output`, when the new file is whole. Not synced to disk: it can be made
/// again. Errors: invalid_argument (2 GiB or more, the folder cannot be written, another file is where the data
/// belong), internal (disk full).
[[nodiscard]] Status write_parts(const OnnxFile& file, const ModelParts& parts,
                                 std::span<const CheckedTensor* const> kept, const std::filesystem::path& output);

}  // namespace assay
