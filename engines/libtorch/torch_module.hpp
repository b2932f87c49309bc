// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include "signature.hpp"

namespace assay::plugin {

/// The files of weights, mapped. Tensors over them keep them alive.
class MappedFiles {
 public:
  /// Packed elements as a tensor that must not be written. Copied only if they are not aligned for their type.
  /// Errors: not_found: the file; invalid_argument: it is too short, or the extents do not match the bytes.
  [[nodiscard]] Result<at::Tensor> tensor(const StoredWeight& weight);
  /// Frees the memory of what was read; it is read again when it is needed.
  void release() const;

 private:
  struct File;
  std::vector<std::shared_ptr<const File>> files_;
};

/// A module as PyTorch has it, and what is to be known of it.
struct LoadedModule {
  torch::jit::Module module;
  Signature signature;
  MappedFiles weights;
};

/// A lowered model: the text of a method, and NAME.json (docs/lowering.md). Errors: those of parse_signature and
/// MappedFiles::tensor; not_found; invalid_argument: libtorch does not compile the text, or the method returns nothing
/// (a file that was cut off); unsupported: it names an operator that this libtorch lacks.
[[nodiscard]] Result<LoadedModule> load_lowered(const std::filesystem::path& file);

}  // namespace assay::plugin
