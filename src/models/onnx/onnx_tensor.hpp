// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/tensor.hpp"
#include "models/onnx/external_range.hpp"
#include "models/onnx/onnx_file.hpp"
#include "models/onnx/tensor_limits.hpp"

namespace assay {

/// A tensor whose declaration and data agree.
struct CheckedTensor {
  const onnx::TensorProto* proto = nullptr;
  DType dtype = DType::kUndefined;
  Shape shape;
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;  ///< packed; of strings, the sum of their lengths
  std::optional<ExternalRange> external{};
};

/// Checks one tensor: type, extents, exactly one place for the data, and as much data as declared.
/// External data is looked for beside `model`; nullopt refuses external data (a tensor in a file of its own).
/// Errors: invalid_argument, not_found (external file), unsupported (segments, float6); each begins with `what`.
[[nodiscard]] Result<CheckedTensor> check_tensor(const onnx::TensorProto& tensor, std::optional<Bytes> raw,
                                                 const std::optional<std::filesystem::path>& model,
                                                 std::uint64_t memory, const std::string& what);

/// Sparse tensors: values [N], indices [N] or [N, rank] of int64, ascending and inside the dense extents.
[[nodiscard]] Status check_sparse(const OnnxFile& file, const onnx::SparseTensorProto& sparse, std::uint64_t memory,
                                  const std::string& what);

/// The part of an external file that has a tensor's bytes. Errors: invalid_argument: the file became shorter.
[[nodiscard]] Result<Bytes> external_bytes(const MappedFile& file, const CheckedTensor& tensor);

/// The packed bytes of checked tensors; external files are mapped once and stay so.
class TensorReader {
 public:
  explicit TensorReader(const OnnxFile& file) : file_(file) {}
  /// Lifetime: until the next call or the reader's or the file's end, whichever is first.
  [[nodiscard]] Result<Bytes> bytes(const CheckedTensor& tensor);

 private:
  const OnnxFile& file_;
  std::map<std::filesystem::path, MappedFile> external_;
  std::vector<std::byte> decoded_;
};

/// Packed bytes of a tensor that stores its elements in float_data, int32_data or another typed field.
[[nodiscard]] std::vector<std::byte> decode_fields(const CheckedTensor& tensor);

}  // namespace assay
