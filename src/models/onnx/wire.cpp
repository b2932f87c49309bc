// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/wire.hpp"

#include <fmt/format.h>

namespace assay::wire {

std::optional<std::uint64_t> take_varint(std::span<const std::byte>& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    value |= (byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      bytes = bytes.subspan(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

Result<std::optional<Field>> FieldReader::next() {
  if (rest_.empty()) return std::nullopt;
  const std::span<const std::byte> start = rest_;
  const auto tag = take_varint(rest_);
  if (!tag) return fail(ErrorCode::kInvalidArgument, "a field's tag is cut off");
  Field field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  if (*tag > 0xFFFFFFFFU || field.number == 0) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is not a field's tag", *tag));
  }
  std::uint64_t length = 0;
  switch (*tag & 7) {
    case Field::kVarint: {
      const auto value = take_varint(rest_);
      if (!value)
        return fail(ErrorCode::kInvalidArgument, fmt::format("the number in field {} is cut off", field.number));
      field.value = *value;
      break;
    }
    case Field::kFixed64:
      length = 8;
      break;
    case Field::kFixed32:
      length = 4;
      break;
    case Field::kBytes: {
      const auto announced = take_varint(rest_);
      if (!announced) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("the length of field {} is cut off", field.number));
      }
      length = *announced;
      break;
    }
    default:
      return fail(ErrorCode::kInvalidArgument, fmt::format("field {} has the unknown type {}", field.number, *tag & 7));
  }
  field.type = static_cast<Field::Type>(*tag & 7);
  if (length > rest_.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("field {} announces {} bytes and {} are left", field.number, length, rest_.size()));
  }
  field.payload = rest_.first(static_cast<std::size_t>(length));
  rest_ = rest_.subspan(static_cast<std::size_t>(length));
  field.whole = start.first(start.size() - rest_.size());
  return field;
}

}  // namespace assay::wire
