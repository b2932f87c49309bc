// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/files.hpp"
#include "core/base/text.hpp"

namespace assay {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxNpyHeader = 1 << 20;

constexpr std::array<std::pair<std::string_view, DType>, 12> kDescr{{{"|b1", DType::kBool},
                                                                     {"|i1", DType::kInt8},
                                                                     {"|u1", DType::kUInt8},
                                                                     {"<i2", DType::kInt16},
                                                                     {"<u2", DType::kUInt16},
                                                                     {"<i4", DType::kInt32},
                                                                     {"<u4", DType::kUInt32},
                                                                     {"<i8", DType::kInt64},
                                                                     {"<u8", DType::kUInt64},
                                                                     {"<f2", DType::kFloat16},
                                                                     {"<f4", DType::kFloat32},
                                                                     {"<f8", DType::kFloat64}}};

std::optional<DType> dtype_of(std::string_view descr) {
  const auto found = std::find_if(kDescr.begin(), kDescr.end(), [&](const auto& row) {
    // "=" is the machine's order and "<" on one-byte elements is legal.
    return descr.size() == 3 && descr.substr(1) == row.first.substr(1) &&
           (descr[0] == row.first[0] || descr[0] == '=' || (row.first[0] == '|' && descr[0] == '<'));
  });
  if (found == kDescr.end()) return std::nullopt;
  return found->second;
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. This reads as much
// of Python as that; a structured dtype's descr is a list and is kept as text for the message.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Header> header() {
    Header header;
    unsigned seen = 0;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return std::nullopt;
      bool good = false;
      if (*key == "descr") good = descr(header.descr), seen |= 1U;
      if (*key == "fortran_order") good = boolean(header.fortran_order), seen |= 2U;
      if (*key == "shape") good = tuple(header.shape), seen |= 4U;
      if (!good) return std::nullopt;
      if (!take(',') && peek() != '}') return std::nullopt;
    }
    if (seen != 7U || !text_.empty()) return std::nullopt;
    return header;
  }

 private:
  char peek() {
    text_ = trim(text_);
    return text_.empty() ? '\0' : text_.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    text_ = trim(text_);
    return true;
  }
  bool take(std::string_view word) {
    peek();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const auto end = text_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string value(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return value;
  }
  bool descr(std::string& value) {
    if (peek() == '[') {
      const auto end = text_.find(']');
      if (end == std::string_view::npos) return false;
      value = std::string(text_.substr(0, end + 1));
      text_.remove_prefix(end + 1);
      return true;
    }
    auto text = quoted();
    if (text) value = std::move(*text);
    return text.has_value();
  }
  bool boolean(bool& value) {
    value = take("True");
    return value || take("False");
  }
  bool tuple(Shape& shape) {
    if (!take('(')) return false;
    while (!take(')')) {
      peek();
      const auto end = std::min(text_.find_first_not_of("0123456789"), text_.size());
      const auto extent = parse_number<std::int64_t>(text_.substr(0, end));
      if (!extent) return false;
      shape.push_back(*extent);
      text_.remove_prefix(end);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view text_;
};

// Fortran order is the C order of the reversed axes.
void transpose(std::span<const std::byte> from, const Shape& shape, std::size_t width, std::span<std::byte> to) {
  std::vector<std::size_t> strides(shape.size()), index(shape.size(), 0);
  std::size_t stride = width;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  std::size_t source = 0;
  for (std::size_t target = 0; target < to.size(); target += width) {
    std::memcpy(to.data() + target, from.data() + source, width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      source += strides[axis];
      if (++index[axis] < static_cast<std::size_t>(shape[axis])) break;
      source -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

}  // namespace

Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::string_view name) {
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{}: {}", name, what));
  };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 10 || !text.starts_with(kMagic)) return wrong("not a .npy file");
  const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); };
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) return wrong(fmt::format("version {} of .npy; 1 to 3 are known", version));
  const std::size_t start = version == 1 ? 10 : 12;
  if (text.size() < start) return wrong("cut off inside its header");
  const std::size_t length =
      version == 1 ? byte(8) | byte(9) << 8 : byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24;
  if (length > text.size() - start || length > kMaxNpyHeader)
    return wrong(fmt::format("a header of {} bytes does not fit a file of {} bytes", length, text.size()));
  const auto header = Reader(text.substr(start, length)).header();
  if (!header) return wrong("its header is not a dictionary of 'descr', 'fortran_order' and 'shape'");
  const auto dtype = dtype_of(header->descr);
  if (!dtype)
    return fail(ErrorCode::kUnsupported, fmt::format("{}: elements of type {}", name, sanitise(header->descr)),
                "save it as little-endian bool, integers or floats");
  const auto size = byte_size(*dtype, header->shape);
  if (!size) return wrong(size.error().message);
  const std::span<const std::byte> data = bytes.subspan(start + length);
  if (data.size() != *size)
    return wrong(fmt::format("{} of shape {} has {} bytes, the file has {}", to_string(*dtype),
                             to_string(header->shape), *size, data.size()));
  if (!header->fortran_order || header->shape.size() < 2) return Tensor::copy_of({*dtype, header->shape, data});
  ASSAY_TRY(Tensor tensor, Tensor::create(*dtype, header->shape));
  transpose(data, header->shape, static_cast<std::size_t>(bit_width(*dtype) / 8), tensor.bytes());
  return tensor;
}

Result<Tensor> read_npy(const std::filesystem::path& path) {
  ASSAY_TRY(const MappedFile file, MappedFile::open(path));
  return parse_npy(file.bytes(), path.string());
}

Status write_npy(const std::filesystem::path& path, const TensorView& view) {
  const auto known =
      std::find_if(kDescr.begin(), kDescr.end(), [&](const auto& row) { return row.second == view.dtype; });
  if (known == kDescr.end())
    return fail(ErrorCode::kUnsupported,
                fmt::format("cannot write {}: .npy has no {}", path.string(), to_string(view.dtype)));
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", known->first,
                                   fmt::join(view.shape, ", "), view.shape.size() == 1 ? "," : "");
  constexpr std::size_t kStart = 10, kAlignment = 64;  // as NumPy aligns the data
  header.append((kAlignment - (kStart + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header.push_back('\n');
  std::string head(kMagic);
  head.append({'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)});
  head += header;
  const std::array<std::string_view, 2> pieces{
      head, std::string_view(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size())};
  return write_file_atomically(path, pieces);
}

}  // namespace assay
