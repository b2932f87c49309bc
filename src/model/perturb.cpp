// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/graph_check.hpp"
#include "model/model.hpp"
#include "model/wire.hpp"
#include "tensor/random.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// The distance of neighbours just above 1, and the smallest normal number.
struct Format {
  double unit;
  double smallest;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {0x1p-52, 0x1p-1022};
    case DType::kFloat16:
      return {0x1p-10, 0x1p-14};
    case DType::kBFloat16:
      return {0x1p-7, 0x1p-126};
    default:
      return {0x1p-23, 0x1p-126};
  }
}

// The power of two at or below |x|; 0 for subnormal numbers.
double binade(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FF0'0000'0000'0000U); }

// x moved by one unit in the last place of `format`; towards zero where the other way leads out of the finite numbers.
template <class Float, class Store>
Store moved(Store stored, bool up, Format format, Float (*load)(Store), Store (*store)(Float)) {
  const Float x = load(stored);
  if (x == Float{0} || !std::isfinite(x)) return stored;
  const double step = std::max(binade(static_cast<double>(x)), format.smallest) * format.unit;
  const Float outward = std::copysign(static_cast<Float>(step), x);
  const Store result = store(up ? x + outward : x - outward);
  return std::isfinite(load(result)) ? result : store(x - outward);
}

// Moves the elements that lie packed in `bytes`; the direction of element i is bit i of the tensor's stream.
template <class Float, class Store>
void move_packed(std::span<std::byte> bytes, const CounterRandom& random, std::uint64_t first, Format format,
                 Float (*load)(Store), Store (*store)(Float)) {
  for (std::size_t i = 0; (i + 1) * sizeof(Store) <= bytes.size(); ++i) {
    Store value;
    std::memcpy(&value, bytes.data() + i * sizeof(Store), sizeof value);
    value = moved(value, (random.bits(first + i) & 1) != 0, format, load, store);
    std::memcpy(bytes.data() + i * sizeof(Store), &value, sizeof value);
  }
}

template <class Float>
Float same(Float x) {
  return x;
}

void move_elements(DType dtype, std::span<std::byte> bytes, const CounterRandom& random, std::uint64_t first,
                   Format format) {
  switch (dtype) {
    case DType::kFloat32:
      return move_packed<float, float>(bytes, random, first, format, same, same);
    case DType::kFloat64:
      return move_packed<double, double>(bytes, random, first, format, same, same);
    case DType::kFloat16:
      return move_packed<float, std::uint16_t>(bytes, random, first, format, half_to_float, float_to_half);
    default:
      return move_packed<float, std::uint16_t>(bytes, random, first, format, bfloat16_to_float, float_to_bfloat16);
  }
}

// A copy of a file, some of whose bytes are then changed in place.
class Copy {
 public:
  static Result<Copy> make(const fs::path& from, const fs::path& to) {
    std::error_code error;
    fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
    if (error) {
      return fail(ErrorCode::kInternal,
                  fmt::format("cannot copy {} to {}: {}", shown_path(from), shown_path(to), error.message()));
    }
    fs::permissions(to, fs::perms::owner_read | fs::perms::owner_write, fs::perm_options::add, error);
    Copy copy(to, ::open(to.c_str(), O_WRONLY | O_CLOEXEC));
    if (copy.fd_ < 0) return copy.io_error();
    return copy;
  }
  Copy(Copy&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  Copy& operator=(Copy&&) = delete;
  ~Copy() {
    if (fd_ >= 0) ::close(fd_);
  }

  Status write(std::uint64_t offset, Bytes bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return io_error();
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      offset += static_cast<std::uint64_t>(n);
    }
    return {};
  }

 private:
  Copy(fs::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  [[nodiscard]] tl::unexpected<Error> io_error() const {
    return fail(ErrorCode::kInternal, fmt::format("cannot write {}: {}", shown_path(path_), std::strerror(errno)));
  }
  fs::path path_;
  int fd_;
};

bool is_moved(const CheckedTensor& tensor, const std::unordered_set<std::string_view>& fixed) {
  switch (tensor.dtype) {
    case DType::kFloat64:
    case DType::kFloat32:
    case DType::kFloat16:
    case DType::kBFloat16:
      return tensor.elements > 1 && !fixed.contains(tensor.proto->name());
    default:
      return false;
  }
}

// Tensors that decide shapes: moved by one bit, ⌊7 × 2.0⌋ would be 13.
std::unordered_set<std::string_view> shape_deciding(const onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> names;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Resize" && node.op_type() != "Upsample") continue;
    for (int i = 1; i < node.input_size(); ++i) names.insert(node.input(i));
  }
  return names;
}

class Mover {
 public:
  Mover(const OnnxFile& file, const Copy& copy, DType dtype, std::uint64_t seed)
      : file_(file), copy_(copy), target_(format_of(dtype)), seed_(seed) {}

  Status move_range(const CheckedTensor& tensor, Bytes bytes, const Copy& copy, std::uint64_t offset) const {
    const CounterRandom random(seed_, tensor.proto->name());
    const auto width = static_cast<std::size_t>(bit_width(tensor.dtype)) / 8;
    std::vector<std::byte> chunk;
    for (std::size_t at = 0; at < bytes.size(); at += chunk.size()) {
      const Bytes source = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
      chunk.assign(source.begin(), source.end());
      move_elements(tensor.dtype, chunk, random, at / width, coarser(tensor.dtype));
      ASSAY_CHECK_OK(copy.write(offset + at, chunk));
    }
    return {};
  }

  // raw_data, float_data and double_data hold the elements as they are; int32_data holds half-precision ones as
  // varints.
  Status move_message(const CheckedTensor& tensor, Bytes message) const {
    wire::FieldReader fields(message);
    std::uint64_t element = 0;
    for (;;) {
      ASSAY_TRY(const std::optional<wire::Field> field, fields.next());
      if (!field) return {};
      constexpr std::uint32_t kFloatData = 4, kInt32Data = 5, kRawData = 9, kDoubleData = 10;
      if (field->number == kInt32Data) {
        Bytes varints = field->type == wire::Field::kBytes ? field->payload : field->whole;
        if (field->type == wire::Field::kVarint) static_cast<void>(wire::take_varint(varints));  // the tag
        ASSAY_CHECK_OK(move_varints(tensor, varints, element));
      } else if (field->number == kFloatData || field->number == kDoubleData ||
                 (field->number == kRawData && !field->payload.empty())) {
        ASSAY_CHECK_OK(move_range(tensor, field->payload, copy_, offset_of(field->payload)));
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = 1 << 20;

  [[nodiscard]] std::uint64_t offset_of(Bytes part) const {
    return static_cast<std::uint64_t>(part.data() - file_.bytes().data());
  }

  [[nodiscard]] Format coarser(DType own) const {
    const Format format = format_of(own);
    return {std::max(format.unit, target_.unit), std::max(format.smallest, target_.smallest)};
  }

  // In place, so a move that would need another length goes the other way.
  Status move_varints(const CheckedTensor& tensor, Bytes varints, std::uint64_t& element) const {
    const CounterRandom random(seed_, tensor.proto->name());
    std::vector<std::byte> out;
    const std::uint64_t offset = offset_of(varints);
    while (!varints.empty()) {
      const Bytes before = varints;
      const auto stored = wire::take_varint(varints);
      if (!stored) return fail(ErrorCode::kInvalidArgument, "a number is cut off");
      const std::size_t length = before.size() - varints.size();
      auto value = static_cast<std::uint16_t>(*stored);
      const bool up = (random.bits(element++) & 1) != 0;
      const auto load = tensor.dtype == DType::kFloat16 ? half_to_float : bfloat16_to_float;
      const auto store = tensor.dtype == DType::kFloat16 ? float_to_half : float_to_bfloat16;
      for (const bool direction : {up, !up}) {
        const std::uint16_t result = moved<float, std::uint16_t>(value, direction, coarser(tensor.dtype), load, store);
        if (length_of(result) != length) continue;
        value = result;
        break;
      }
      if (length_of(value) != length) {
        out.insert(out.end(), before.begin(), before.begin() + static_cast<std::ptrdiff_t>(length));
        continue;
      }
      for (std::size_t i = 0; i < length; ++i) {
        out.push_back(static_cast<std::byte>(((value >> (7 * i)) & 0x7F) | (i + 1 < length ? 0x80 : 0)));
      }
    }
    return copy_.write(offset, out);
  }

  static std::size_t length_of(std::uint16_t value) { return value < 0x80 ? 1 : value < 0x4000 ? 2 : 3; }

  const OnnxFile& file_;
  const Copy& copy_;
  Format target_;
  std::uint64_t seed_;
};

// The encoded initialisers of the main graph, in file order.
Result<std::vector<Bytes>> encoded_initializers(Bytes model) {
  constexpr std::uint32_t kGraph = 7, kInitializer = 5;
  std::vector<Bytes> found;
  wire::FieldReader fields(model);
  for (;;) {
    ASSAY_TRY(const std::optional<wire::Field> field, fields.next());
    if (!field) return found;
    if (!field->is(kGraph, wire::Field::kBytes)) continue;
    wire::FieldReader graph(field->payload);
    for (;;) {
      ASSAY_TRY(const std::optional<wire::Field> part, graph.next());
      if (!part) break;
      if (part->is(kInitializer, wire::Field::kBytes)) found.push_back(part->payload);
    }
  }
}

}  // namespace

Status write_perturbed(const fs::path& from, DType dtype, std::uint64_t seed, const fs::path& to) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(from));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  const fs::path folder = to.has_parent_path() ? to.parent_path() : fs::path(".");
  ASSAY_CHECK_OK(make_directories(folder));
  std::error_code error;
  if (fs::equivalent(folder, from.has_parent_path() ? from.parent_path() : fs::path("."), error)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} lies in the model's own folder", shown_path(to)),
                "write it into another folder");
  }
  ASSAY_TRY(const Copy model, Copy::make(from, to));
  std::map<fs::path, Copy> external;
  for (const auto* tensors : {&checked.initializers, &checked.constants}) {
    for (const CheckedTensor& tensor : *tensors) {
      if (!tensor.external || external.contains(tensor.external->location)) continue;
      const fs::path target = folder / tensor.external->location;
      ASSAY_CHECK_OK(make_directories(target.parent_path()));
      ASSAY_TRY(Copy copy, Copy::make(tensor.external->file, target));
      external.emplace(tensor.external->location, std::move(copy));
    }
  }
  const Mover mover(file, model, dtype, seed);
  TensorReader reader(file);
  const auto fixed = shape_deciding(file.model().graph());
  ASSAY_TRY(const std::vector<Bytes> encoded, encoded_initializers(file.bytes()));
  ASSAY_CHECK(encoded.size() == checked.initializers.size(), "both walk the same initialisers");
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const CheckedTensor& tensor = checked.initializers[i];
    if (!is_moved(tensor, fixed)) continue;
    if (tensor.external) {
      ASSAY_TRY(const Bytes bytes, reader.bytes(tensor));
      ASSAY_CHECK_OK(mover.move_range(tensor, bytes, external.at(tensor.external->location), tensor.external->offset));
    } else {
      ASSAY_CHECK_OK(mover.move_message(tensor, encoded[i]));
    }
  }
  return {};
}

}  // namespace assay
