// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <assay/result.hpp>

namespace assay::wire {

/// One field of a protobuf message in its encoded form (protobuf.dev, "Encoding").
struct Field {
  enum Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
  std::uint32_t number = 0;
  Type type = kVarint;
  std::uint64_t value = 0;               ///< content of a kVarint
  std::span<const std::byte> whole;      ///< tag, length and payload
  std::span<const std::byte> payload{};  ///< content of a kBytes, kFixed32 or kFixed64

  [[nodiscard]] bool is(std::uint32_t wanted, Type wanted_type) const {
    return number == wanted && type == wanted_type;
  }
};

/// Walks the fields of one message, in order, without copying. Groups (not used by ONNX) are refused.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> message) : rest_(message) {}
  /// The next field; nullopt at the end. Errors: invalid_argument, which says what ends too early or is not a field.
  [[nodiscard]] Result<std::optional<Field>> next();

 private:
  std::span<const std::byte> rest_;
};

/// Reads one varint from the front of `bytes` and drops it there; nullopt when it is cut or longer than ten bytes.
[[nodiscard]] std::optional<std::uint64_t> take_varint(std::span<const std::byte>& bytes);

/// Tag and length of a field of kBytes, which its payload follows.
[[nodiscard]] inline std::string header_of(std::uint32_t number, std::uint64_t length) {
  std::string header;
  for (std::uint64_t rest : {static_cast<std::uint64_t>(number) << 3 | Field::kBytes, length}) {
    for (; rest >= 0x80; rest >>= 7) header.push_back(static_cast<char>((rest & 0x7F) | 0x80));
    header.push_back(static_cast<char>(rest));
  }
  return header;
}

}  // namespace assay::wire
