// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "models/onnx/onnx_tensor.hpp"

namespace assay {

/// Finds a tensor's external data and checks that all `bytes` of it are there.
///
/// A location must be relative, without `..`, and inside the model's folder after links are followed. A model that is
/// itself a link (Hugging Face's cache) has two folders, that of the link and that of its target; both are allowed.
/// `model` is the path of the model file.
/// Errors: invalid_argument, not_found; each begins with `what`.
[[nodiscard]] Result<ExternalRange> find_external(const onnx::TensorProto& tensor, const std::filesystem::path& model,
                                                  std::uint64_t bytes, const std::string& what);

}  // namespace assay
