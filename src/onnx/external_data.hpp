// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "onnx/onnx_tensor.hpp"

namespace assay {

/// Finds a tensor's external data and checks that all `bytes` of it are there.
///
/// A location must be relative, without `..`, and really lie in the model's folder after following links. A model that
/// is itself a link (Hugging Face's cache) has two folders: where the link is and where it leads; either will do.
/// `model` is the path of the model file.
/// Errors: invalid_argument, not_found; each begins with `what`.
[[nodiscard]] Result<ExternalRange> find_external(const onnx::TensorProto& tensor, const std::filesystem::path& model,
                                                  std::uint64_t bytes, const std::string& what);

}  // namespace assay
