// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <assay/result.hpp>

#include "core/base/files.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// The content of a .safetensors file; the views point into its bytes.
struct SafetensorsContent {
  std::vector<std::string> names;  ///< names in the file's data order
  std::map<std::string, TensorView> tensors;
  std::map<std::string, std::string> metadata;
};

/// Reads a file's bytes. The whole header is checked before it is used: length within the file and at most
/// 100 MB, valid UTF-8 and JSON, known dtypes, byte ranges that match dtype x shape, that do not overlap, leave no
/// holes and end with the file. Nothing is allocated but the header's own content.
/// Errors: invalid_argument naming the file (`name`), the tensor and the first thing wrong with it.
[[nodiscard]] Result<SafetensorsContent> parse_safetensors(std::span<const std::byte> bytes, std::string_view name);

/// A memory-mapped .safetensors file.
/// Lifetime: views are valid while the object lives. Their elements need not be aligned: the format does not promise
/// it. Thread: const members from any.
class SafetensorsFile {
 public:
  /// Errors: not_found; those of parse_safetensors.
  [[nodiscard]] static Result<SafetensorsFile> open(const std::filesystem::path& path);

  /// The names in the file's data order.
  [[nodiscard]] const std::vector<std::string>& names() const { return content_.names; }
  [[nodiscard]] bool contains(const std::string& name) const { return content_.tensors.contains(name); }
  /// Errors: not_found, naming the closest names in the file.
  [[nodiscard]] Result<TensorView> tensor(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const { return content_.metadata; }

 private:
  SafetensorsFile(std::filesystem::path path, MappedFile file, SafetensorsContent content)
      : path_(std::move(path)), file_(std::move(file)), content_(std::move(content)) {}
  std::filesystem::path path_;
  MappedFile file_;
  SafetensorsContent content_;
};

struct NamedView {
  std::string name;
  TensorView view;
};
/// Writes all at once (temporary + rename), tensors in the given order, the data beginning at a multiple of 8 bytes.
/// Errors: those of write_file_atomically; unsupported (a dtype that the format does not have); invalid_argument (a
/// name given twice or not UTF-8, bytes that do not match the shape).
[[nodiscard]] Status write_safetensors(const std::filesystem::path& path, std::span<const NamedView> tensors,
                                       const std::map<std::string, std::string>& metadata = {},
                                       Persistence persistence = Persistence::kDurable);

}  // namespace assay
