// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx-ml.pb.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include <assay/result.hpp>

#include "core/base/files.hpp"

namespace assay {

/// An ONNX file, memory-mapped and parsed without copying its weights: the `raw_data` of initialisers and of large
/// tensors in nodes' attributes stays in the map and is reached by raw(). Nothing is checked but the encoding.
///
/// Lifetime: messages and spans are valid while the object lives. Thread: const members from any.
class OnnxFile {
 public:
  /// Errors: not_found; invalid_argument: empty, not ONNX (says what it looks like instead), truncated or damaged
  /// (says where), nested deeper than protobuf's limit of 100, 2 GiB or more (such weights must be external data).
  [[nodiscard]] static Result<OnnxFile> open(const std::filesystem::path& path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const onnx::ModelProto& model() const { return *model_; }
  [[nodiscard]] Bytes bytes() const { return file_.bytes(); }

  /// The packed bytes of a tensor of this file that has them.
  [[nodiscard]] bool has_raw(const onnx::TensorProto& tensor) const;
  [[nodiscard]] Bytes raw(const onnx::TensorProto& tensor) const;

 private:
  explicit OnnxFile(MappedFile file) : file_(std::move(file)) {}
  MappedFile file_;
  std::filesystem::path path_;
  std::unique_ptr<onnx::ModelProto> model_ = std::make_unique<onnx::ModelProto>();
  std::unordered_map<const onnx::TensorProto*, Bytes> raw_;
};

/// Reads an ONNX TensorProto from a file of its own, such as test_data_set_0/input_0.pb. Errors: as OnnxFile::open.
[[nodiscard]] Result<onnx::TensorProto> read_tensor_proto(const std::filesystem::path& path);

}  // namespace assay
