// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "core/tensor/safetensors.hpp"
#include "models/zoo/catalogue/architecture.hpp"

namespace assay::zoo {

/// The tensors of a Hugging Face checkpoint: one .safetensors file, or several files that an index lists. The files are
/// memory-mapped.
///
/// Names are compared as transformers compares them. Older names are replaced by newer ones ("renames" of the
/// architecture). The prefix of the base model ("bert.") is ignored, in the files and in the names that callers pass.
class Checkpoint {
 public:
  /// `path`: a folder, a .safetensors or a .safetensors.index.json. Errors: not_found; unsupported (only a
  /// pytorch_model.bin: says how to convert it); invalid_argument (a broken file or index: names it and what is wrong).
  [[nodiscard]] static Result<Checkpoint> open(const std::filesystem::path& path, const Architecture& architecture);

  /// nullptr: there is no tensor of that name. Lifetime: that of the checkpoint.
  [[nodiscard]] const TensorView* find(const std::string& parameter) const;
  [[nodiscard]] std::vector<std::string> names() const;  ///< names in the files, sorted
  /// The name without the base model's prefix and with older names replaced. It is equal for all names of one
  /// parameter.
  [[nodiscard]] std::string canonical(const std::string& name) const;
  /// SHA-256 of the files' bytes, in the order of their names. Errors: those of MappedFile::open; cancelled.
  [[nodiscard]] Result<std::string> hash(const Cancelled& cancelled) const;

 private:
  std::vector<std::filesystem::path> paths_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::string> canonical_to_name_;
  std::map<std::string, TensorView> tensors_;  ///< tensors by canonical name
  std::string prefix_;
  std::vector<std::pair<std::string, std::string>> renames_;
};

}  // namespace assay::zoo
