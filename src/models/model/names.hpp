// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <assay/result.hpp>

namespace assay {

/// What a MODEL argument stands for.
struct ModelReference {
  enum class Kind {
    kOnnxFile,      ///< path: to check with inspect_model
    kConfigFolder,  ///< path: a folder with config.json, which the zoo builds; weights: those in it, if there are any
    kRuntimeFile,   ///< path, format: a file that only a runtime reads
    kName,          ///< name: an architecture, a known model or a Hugging Face id, for the zoo to find
  };
  Kind kind = Kind::kName;
  std::filesystem::path path{};
  std::optional<std::filesystem::path> weights{};  ///< model.safetensors or model.safetensors.index.json
  std::string name{};                              ///< name without the prefix "zoo:"
  std::string format{};                            ///< the usual extension of the file's format: "xml", "pt"
  bool zoo_only = false;                           ///< it had "zoo:": nothing is looked up elsewhere
};

/// Decides what `argument` stands for, in this order: a file, a folder with model.onnx or config.json, `zoo:NAME` or
/// any other word. What a file is follows from its content (models/model/file_kind.hpp), whatever its name; nothing is
/// parsed. `runtime_formats`: extensions of further files that only runtimes read (EngineEntry::formats), if their
/// content says nothing.
///
/// Errors: not_found: a path without a file there; invalid_argument: a folder that cannot be read or has neither file
/// (says what it has), a file of another kind (says which), a pickle of PyTorch, which is not TorchScript; unsupported:
/// a folder whose weights are only pytorch_model.bin, with the line that converts them.
[[nodiscard]] Result<ModelReference> identify_model(const std::string& argument,
                                                    const std::vector<std::string>& runtime_formats = {});

}  // namespace assay
