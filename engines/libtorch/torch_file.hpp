// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "torch_module.hpp"

namespace assay::plugin {

/// The file inside a .pt that has its signature.
inline constexpr const char* kSignatureFile = "assay.json";

/// A .pt file of TorchScript. Its signature (docs/lowering.md) is in NAME.pt.json, else inside it, in the extra file
/// assay.json, else in the file `signature` (a path, or ""). Outputs that a signature does not have are those of a run
/// with zeros.
/// Errors: invalid_argument: the file is not TorchScript, or its signature is nowhere; unsupported: a file of
/// torch.export, of a newer PyTorch, or with an operator or a class that this libtorch lacks.
[[nodiscard]] Result<LoadedModule> load_foreign(const std::filesystem::path& file, const std::string& signature);

}  // namespace assay::plugin
