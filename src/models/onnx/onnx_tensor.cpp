// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/onnx_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/text.hpp"
#include "models/onnx/external_data.hpp"

namespace assay {
namespace {

// Entries of the typed field (float_data, int32_data, …) that `elements` need: complex numbers two, packed types a
// byte.
std::uint64_t entries_of(DType dtype, std::uint64_t elements) {
  if (dtype == DType::kComplex64 || dtype == DType::kComplex128) return 2 * elements;
  const auto bits = static_cast<std::uint64_t>(bit_width(dtype));
  return bits > 0 && bits < 8 ? (elements * bits + 7) / 8 : elements;
}

struct TypedField {
  std::string_view name;
  int size;
};

// The field of TensorProto that has elements of this type if raw_data does not (onnx-ml.proto, TensorProto).
TypedField field_of(const onnx::TensorProto& t, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      return {"float_data", t.float_data_size()};
    case DType::kFloat64:
    case DType::kComplex128:
      return {"double_data", t.double_data_size()};
    case DType::kInt64:
      return {"int64_data", t.int64_data_size()};
    case DType::kUInt32:
    case DType::kUInt64:
      return {"uint64_data", t.uint64_data_size()};
    case DType::kString:
      return {"string_data", t.string_data_size()};
    default:
      return {"int32_data", t.int32_data_size()};
  }
}

bool has_other_fields(const onnx::TensorProto& t, std::string_view own) {
  const std::pair<std::string_view, int> all[] = {
      {"float_data", t.float_data_size()},   {"double_data", t.double_data_size()},
      {"int64_data", t.int64_data_size()},   {"uint64_data", t.uint64_data_size()},
      {"string_data", t.string_data_size()}, {"int32_data", t.int32_data_size()}};
  return std::any_of(std::begin(all), std::end(all), [&](const auto& f) { return f.first != own && f.second > 0; });
}

Status check_inline(const onnx::TensorProto& tensor, std::optional<Bytes> raw, const CheckedTensor& checked,
                    const std::string& what) {
  const TypedField field = field_of(tensor, checked.dtype);
  if (has_other_fields(tensor, field.name)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is {} but has data of another type", what, to_string(checked.dtype)));
  }
  const bool with_raw = raw && (!raw->empty() || field.size == 0);
  if (with_raw && field.size > 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} has its data twice: raw_data and {}", what, field.name));
  }
  if (with_raw && checked.dtype == DType::kString && !raw->empty()) {
    return fail(ErrorCode::kInvalidArgument, what + " has strings as raw_data");
  }
  if (with_raw && checked.dtype != DType::kString) {
    if (raw->size() == checked.bytes) return {};
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is {} {}, {} bytes, but has {}", what, to_string(checked.dtype),
                            to_string(checked.shape), checked.bytes, raw->size()));
  }
  const std::uint64_t wanted = entries_of(checked.dtype, static_cast<std::uint64_t>(checked.elements));
  if (static_cast<std::uint64_t>(field.size) == wanted) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} is {} {}, {} entries of {}, but has {}", what, to_string(checked.dtype),
                          to_string(checked.shape), wanted, field.name, field.size));
}

template <class T, class Source>
std::vector<std::byte> narrow(const Source& source) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(source.size()) * sizeof(T));
  std::byte* out = bytes.data();
  for (const auto entry : source) {
    const T value = static_cast<T>(entry);
    std::memcpy(out, &value, sizeof value);
    out += sizeof value;
  }
  return bytes;
}

}  // namespace

Result<CheckedTensor> check_tensor(const onnx::TensorProto& tensor, std::optional<Bytes> raw,
                                   const std::optional<std::filesystem::path>& model, std::uint64_t memory,
                                   const std::string& what) {
  CheckedTensor checked{.proto = &tensor, .shape = Shape(tensor.dims().begin(), tensor.dims().end())};
  ASSAY_TRY(checked.dtype, check_element_type(tensor.data_type(), what));
  ASSAY_TRY(checked.bytes, check_extents(checked.dtype, checked.shape, false, memory, what));
  checked.elements = 1;
  for (const std::int64_t extent : checked.shape) checked.elements = extent == 0 ? 0 : checked.elements * extent;
  if (tensor.has_segment()) return fail(ErrorCode::kUnsupported, what + " is a segment of a larger tensor");
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    if (!model) return fail(ErrorCode::kUnsupported, what + " keeps its data in another file");
    if (checked.dtype == DType::kString)
      return fail(ErrorCode::kInvalidArgument, what + " keeps strings as external data");
    if ((raw && !raw->empty()) || has_other_fields(tensor, "")) {
      return fail(ErrorCode::kInvalidArgument, what + " has data and names external data");
    }
    ASSAY_TRY(checked.external, find_external(tensor, *model, checked.bytes, what));
    return checked;
  }
  ASSAY_CHECK_OK(check_inline(tensor, raw, checked, what));
  if (checked.dtype == DType::kString) {
    checked.bytes = 0;
    for (const std::string& text : tensor.string_data()) checked.bytes += text.size();
  }
  return checked;
}

Status check_sparse(const OnnxFile& file, const onnx::SparseTensorProto& sparse, std::uint64_t memory,
                    const std::string& what) {
  const auto part = [&](const onnx::TensorProto& tensor, std::string_view name) {
    return check_tensor(tensor, file.has_raw(tensor) ? std::optional(file.raw(tensor)) : std::nullopt, file.path(),
                        memory, fmt::format("{} of {}", name, what));
  };
  ASSAY_TRY(const CheckedTensor values, part(sparse.values(), "the values"));
  ASSAY_TRY(const CheckedTensor indices, part(sparse.indices(), "the indices"));
  const Shape dense(sparse.dims().begin(), sparse.dims().end());
  ASSAY_CHECK_OK(check_extents(values.dtype, dense, false, memory, what));
  const auto rank = static_cast<std::int64_t>(dense.size());
  const bool linear = indices.shape.size() == 1;
  if (rank == 0 || values.shape.size() != 1 || indices.dtype != DType::kInt64 ||
      indices.shape != (linear ? Shape{values.elements} : Shape{values.elements, rank})) {
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: values {} and indices {} {} do not fit a sparse tensor {}", what, to_string(values.shape),
                    to_string(indices.dtype), to_string(indices.shape), to_string(dense)));
  }
  TensorReader reader(file);
  ASSAY_TRY(const Bytes bytes, reader.bytes(indices));
  std::int64_t previous = -1;
  for (std::int64_t i = 0; i < values.elements; ++i) {
    std::int64_t flat = 0;
    for (std::int64_t axis = 0; axis < (linear ? 1 : rank); ++axis) {
      std::int64_t index = 0;
      std::memcpy(&index, bytes.data() + 8 * (linear ? i : i * rank + axis), sizeof index);
      std::int64_t limit = dense[static_cast<std::size_t>(axis)];
      if (linear) {
        limit = 1;
        for (const std::int64_t extent : dense) limit *= extent;
      }
      if (index < 0 || index >= limit) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{}: index {} is outside {}", what, index, to_string(dense)));
      }
      flat = linear ? index : flat * limit + index;
    }
    if (flat <= previous) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("{}: its indices are not ascending at entry {}", what, i));
    }
    previous = flat;
  }
  return {};
}

std::vector<std::byte> decode_fields(const CheckedTensor& tensor) {
  const onnx::TensorProto& t = *tensor.proto;
  switch (tensor.dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      return narrow<float>(t.float_data());
    case DType::kFloat64:
    case DType::kComplex128:
      return narrow<double>(t.double_data());
    case DType::kInt64:
      return narrow<std::int64_t>(t.int64_data());
    case DType::kUInt64:
      return narrow<std::uint64_t>(t.uint64_data());
    case DType::kUInt32:
      return narrow<std::uint32_t>(t.uint64_data());
    case DType::kInt32:
      return narrow<std::int32_t>(t.int32_data());
    case DType::kBool:
      return narrow<bool>(t.int32_data());
    case DType::kInt16:
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
      return narrow<std::uint16_t>(t.int32_data());
    case DType::kString: {
      std::vector<std::byte> bytes;
      bytes.reserve(static_cast<std::size_t>(tensor.bytes));
      for (const std::string& text : t.string_data()) {
        const auto view = std::as_bytes(std::span(text));
        bytes.insert(bytes.end(), view.begin(), view.end());
      }
      return bytes;
    }
    default:
      return narrow<std::uint8_t>(t.int32_data());
  }
}

Result<Bytes> external_bytes(const MappedFile& file, const CheckedTensor& tensor) {
  const Bytes all = file.bytes();
  if (tensor.external->offset > all.size() || tensor.bytes > all.size() - tensor.external->offset) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} became shorter while being read", shown_path(tensor.external->file)));
  }
  return all.subspan(static_cast<std::size_t>(tensor.external->offset), static_cast<std::size_t>(tensor.bytes));
}

Result<Bytes> TensorReader::bytes(const CheckedTensor& tensor) {
  if (tensor.external) {
    auto it = external_.find(tensor.external->file);
    if (it == external_.end()) {
      ASSAY_TRY(MappedFile map, MappedFile::open(tensor.external->file));
      it = external_.emplace(tensor.external->file, std::move(map)).first;
    }
    return external_bytes(it->second, tensor);
  }
  if (file_.has_raw(*tensor.proto) && !file_.raw(*tensor.proto).empty()) return file_.raw(*tensor.proto);
  decoded_ = decode_fields(tensor);
  return Bytes(decoded_);
}

}  // namespace assay
