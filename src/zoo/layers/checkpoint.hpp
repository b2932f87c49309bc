// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <assay/result.hpp>

#include "tensor/safetensors.hpp"
#include "zoo/catalogue/architecture.hpp"

namespace assay::zoo {

/// The tensors of a Hugging Face checkpoint, memory-mapped: one .safetensors or shards listed by an index.
///
/// Names are looked up as transformers does: the architecture's older names are replaced by its newer ones, and the
/// base model's prefix ("bert.") may be there or not, on either side.
class Checkpoint {
 public:
  /// `path`: a folder, a .safetensors or a .safetensors.index.json. Errors: not_found; unsupported (only a
  /// pytorch_model.bin: says how to convert it); invalid_argument (a broken file or index: names it and what is wrong).
  [[nodiscard]] static Result<Checkpoint> open(const std::filesystem::path& path, const Architecture& architecture);

  /// nullptr when there is none of that name. Lifetime: the checkpoint's.
  [[nodiscard]] const TensorView* find(const std::string& parameter) const;
  [[nodiscard]] std::vector<std::string> names() const;  ///< as in the files, sorted
  /// The name without the base model's prefix, older words replaced: what two names of one parameter have in common.
  [[nodiscard]] std::string canonical(const std::string& name) const;
  /// SHA-256 of the files' bytes, in the order of their names. Errors: those of MappedFile::open; cancelled.
  [[nodiscard]] Result<std::string> hash(const Cancelled& cancelled) const;

 private:
  std::vector<std::filesystem::path> paths_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::string> canonical_to_name_;
  std::map<std::string, TensorView> tensors_;  ///< by canonical name
  std::string prefix_;
  std::vector<std::pair<std::string, std::string>> renames_;
};

}  // namespace assay::zoo
