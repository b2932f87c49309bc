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

#include "onnx/onnx_file.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// Where a tensor's bytes lie outside the model's file, checked: the file exists, is inside the model's folder and is
/// long enough.
struct ExternalRange {
  std::filesystem::path file;
  std::filesystem::path location;  ///< as the model writes it, relative to its folder
  std::uint64_t offset = 0;
};

/// A tensor whose declaration and data agree.
struct CheckedTensor {
  const onnx::TensorProto* proto = nullptr;
  DType dtype = DType::kUndefined;
  Shape shape;
  std::int64_t elements = 0;
  std::uint64_t bytes = 0;  ///< packed; of strings, the sum of their lengths
  std::optional<ExternalRange> external{};
};

/// What one element type and its extents need. `what` begins the message: "input 'x'". Unknown extents (-1) count as 1
/// where `dynamic` allows them.
/// Errors: invalid_argument: unknown type, an extent below 0 (or -1), a size that overflows or exceeds `memory` bytes.
[[nodiscard]] Result<DType> check_element_type(std::int32_t type, const std::string& what);
[[nodiscard]] Result<std::uint64_t> check_extents(DType dtype, const Shape& shape, bool dynamic, std::uint64_t memory,
                                                  const std::string& what);

/// Checks one tensor: type, extents, exactly one place for the data, and as much data as declared.
/// `model` is the file that external data lies beside; nullopt refuses external data (a tensor in a file of its own).
/// Errors: invalid_argument, not_found (external file), unsupported (segments, float6); each begins with `what`.
[[nodiscard]] Result<CheckedTensor> check_tensor(const onnx::TensorProto& tensor, std::optional<Bytes> raw,
                                                 const std::optional<std::filesystem::path>& model,
                                                 std::uint64_t memory, const std::string& what);

/// Sparse tensors: values [N], indices [N] or [N, rank] of int64, ascending and inside the dense extents.
[[nodiscard]] Status check_sparse(const OnnxFile& file, const onnx::SparseTensorProto& sparse, std::uint64_t memory,
                                  const std::string& what);

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

/// Packed bytes of a tensor that stores its elements in float_data, int32_data and the like.
[[nodiscard]] std::vector<std::byte> decode_fields(const CheckedTensor& tensor);

/// This machine's memory in bytes.
[[nodiscard]] std::uint64_t physical_memory();

}  // namespace assay
