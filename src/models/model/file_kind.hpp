// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/files.hpp"

namespace assay {

/// What a file is, by its content alone.
enum class FileKind {
  kOnnx,          ///< protobuf with the fields of ONNX's ModelProto, perhaps torn
  kTorchArchive,  ///< TorchScript, torch.export or AOTInductor: the runtime says which of them it runs
  kTorchPickle,   ///< torch.save of Python objects
  kPickle,        ///< another Python pickle
  kOpenvinoIr,
  kStableHlo,    ///< text, or MLIR bytecode
  kTorchText,    ///< TorchScript as text, which assay lowers models to
  kTornArchive,  ///< begins as an archive and has no directory at its end
  kEmpty,
  kOther,
};

struct FileContent {
  FileKind kind = FileKind::kOther;
  std::string what{};  ///< description of a kOther: "a GGUF file (llama.cpp)", "a zip archive of x.npy"; "" if unknown
};

/// Looks at the beginning, at the names in an archive, and at the outermost fields of a protobuf message.
[[nodiscard]] FileContent content_of(Bytes file);

}  // namespace assay
