// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/files.hpp"
#include "core/tensor/random.hpp"
#include "core/tensor/ulp.hpp"
#include "models/onnx/graph_check.hpp"
#include "models/onnx/onnx_field_numbers.hpp"
#include "models/onnx/perturb.hpp"
#include "models/onnx/wire.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// A copy of a file, some of whose bytes are then changed in place.
class Copy {
 public:
  static Result<Copy> make(const fs::path& from, const fs::path& to, const Cancelled& cancelled) {
    ASSAY_CHECK_OK(copy_content(from, to, cancelled));
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

bool is_weight(const CheckedTensor& tensor, const std::unordered_set<std::string_view>& fixed) {
  return has_ulp(tensor.dtype) && tensor.elements > 1 && !fixed.contains(tensor.proto->name());
}

// Tensors that decide shapes: perturbed by one bit, ⌊7 × 2.0⌋ would be 13. Inner graphs are included.
void add_shape_deciding(const onnx::GraphProto& graph, std::unordered_set<std::string_view>& names) {
  for (const onnx::NodeProto& node : graph.node()) {
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.has_g()) add_shape_deciding(attribute.g(), names);
    if (node.op_type() != "Resize" && node.op_type() != "Upsample") continue;
    for (int i = 1; i < node.input_size(); ++i) names.insert(node.input(i));
  }
}

// What is done to the weights: rounded to a precision, or perturbed by one unit in its last place.
struct Change {
  DType precision;
  std::optional<std::uint64_t> perturb_seed;  ///< nullopt: rounded
};

// Changes weights in the copy, wherever they are kept.
class Editor {
 public:
  Editor(const OnnxFile& file, const Copy& copy, Change change, const Cancelled& cancelled)
      : file_(file), copy_(copy), change_(change), cancelled_(cancelled) {}

  Status edit_range(const CheckedTensor& tensor, Bytes bytes, const Copy& copy, std::uint64_t offset) const {
    const CounterRandom random(change_.perturb_seed.value_or(0), tensor.proto->name());
    const auto width = static_cast<std::size_t>(bit_width(tensor.dtype)) / 8;
    const DType unit = change_.perturb_seed && !is_rounded(tensor.dtype, bytes) ? tensor.dtype : change_.precision;
    std::vector<std::byte> chunk;
    for (std::size_t at = 0; at < bytes.size(); at += chunk.size()) {
      ASSAY_CHECK_OK(check_cancelled(cancelled_));
      const Bytes source = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
      chunk.assign(source.begin(), source.end());
      if (change_.perturb_seed)
        perturb_by_one_ulp(tensor.dtype, chunk, unit, random, at / width);
      else
        round_to_precision(tensor.dtype, chunk, change_.precision);
      ASSAY_CHECK_OK(copy.write(offset + at, chunk));
    }
    return {};
  }

  // raw_data, float_data and double_data have the elements as they are; int32_data has those of half precision as
  // varints.
  Status edit_message(const CheckedTensor& tensor, Bytes message) const {
    wire::FieldReader fields(message);
    std::uint64_t element = 0;
    for (;;) {
      ASSAY_TRY(const std::optional<wire::Field> field, fields.next());
      if (!field) return {};
      constexpr std::uint32_t kFloatData = 4, kInt32Data = 5, kRawData = 9, kDoubleData = 10;
      if (field->number == kInt32Data) {
        Bytes varints = field->type == wire::Field::kBytes ? field->payload : field->whole;
        if (field->type == wire::Field::kVarint) static_cast<void>(wire::take_varint(varints));  // the tag
        ASSAY_CHECK_OK(edit_varints(tensor, varints, element));
      } else if (field->number == kFloatData || field->number == kDoubleData ||
                 (field->number == kRawData && !field->payload.empty())) {
        ASSAY_CHECK_OK(edit_range(tensor, field->payload, copy_, offset_of(field->payload)));
      }
    }
  }

 private:
  static constexpr std::size_t kChunk = 1 << 20;

  // Whether rounding to the precision changes no element.
  [[nodiscard]] bool is_rounded(DType dtype, Bytes bytes) const {
    std::vector<std::byte> chunk;
    for (std::size_t at = 0; at < bytes.size(); at += chunk.size()) {
      const Bytes source = bytes.subspan(at, std::min(kChunk, bytes.size() - at));
      chunk.assign(source.begin(), source.end());
      round_to_precision(dtype, chunk, change_.precision);
      if (!std::ranges::equal(chunk, source)) return false;
    }
    return true;
  }

  [[nodiscard]] std::uint64_t offset_of(Bytes part) const {
    return static_cast<std::uint64_t>(part.data() - file_.bytes().data());
  }

  // One element of two bytes, changed. `up`: the direction of a perturbation.
  [[nodiscard]] std::uint16_t edited(DType dtype, std::uint16_t value, bool up) const {
    if (change_.perturb_seed) return perturbed_by_one_ulp(dtype, value, up, change_.precision);
    auto bytes = std::bit_cast<std::array<std::byte, 2>>(value);
    round_to_precision(dtype, bytes, change_.precision);
    return std::bit_cast<std::uint16_t>(bytes);
  }

  // In place: a perturbation that needs another length goes in the other direction; a rounding that needs one is left
  // out.
  Status edit_varints(const CheckedTensor& tensor, Bytes varints, std::uint64_t& element) const {
    const CounterRandom random(change_.perturb_seed.value_or(0), tensor.proto->name());
    std::vector<std::byte> out;
    const std::uint64_t offset = offset_of(varints);
    while (!varints.empty()) {
      const Bytes before = varints;
      const auto stored = wire::take_varint(varints);
      if (!stored) return fail(ErrorCode::kInvalidArgument, "a number is cut off");
      const std::size_t length = before.size() - varints.size();
      auto value = static_cast<std::uint16_t>(*stored);
      const bool up = (random.bits(element++) & 1) != 0;
      for (const bool direction : {up, !up}) {
        const std::uint16_t result = edited(tensor.dtype, value, direction);
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
  Change change_;
  const Cancelled& cancelled_;
};

// Calls `take` with the payload of each field of that number, in file order, and its index.
template <class Take>
Status each_field(Bytes message, std::uint32_t number, Take take) {
  wire::FieldReader fields(message);
  for (int index = 0;;) {
    ASSAY_TRY(const std::optional<wire::Field> field, fields.next());
    if (!field) return {};
    if (field->is(number, wire::Field::kBytes)) ASSAY_CHECK_OK(take(field->payload, index++));
  }
}

// The encoded initialisers of the main graph, in file order.
Result<std::vector<Bytes>> encoded_initializers(Bytes model) {
  std::vector<Bytes> found;
  ASSAY_CHECK_OK(each_field(model, onnx_field::kModelGraph, [&](Bytes graph, int) {
    return each_field(graph, onnx_field::kGraphInitializer, [&](Bytes tensor, int) -> Status {
      found.push_back(tensor);
      return {};
    });
  }));
  return found;
}

// Perturbs the tensors of Constant nodes and the initialisers of inner graphs: exporters keep weights there, too (spox,
// PaddlePaddle, TensorFlow). `encoded` and `graph` are the same message.
class ConstantEditor {
 public:
  ConstantEditor(const Editor& editor, const std::unordered_set<std::string_view>& fixed)
      : editor_(editor), fixed_(fixed) {}

  Status edit_nodes(Bytes encoded, const onnx::GraphProto& graph) const {
    return each_field(encoded, onnx_field::kGraphNode, [&](Bytes part, int index) -> Status {
      if (index >= graph.node_size()) return {};
      const onnx::NodeProto& node = graph.node(index);
      return each_field(part, onnx_field::kNodeAttribute, [&](Bytes attribute, int number) -> Status {
        return number < node.attribute_size() ? edit_attribute(attribute, node, node.attribute(number)) : Status();
      });
    });
  }

 private:
  Status edit_attribute(Bytes encoded, const onnx::NodeProto& node, const onnx::AttributeProto& attribute) const {
    if (attribute.has_t() && node.op_type() == "Constant" && node.output_size() == 1)
      return each_field(encoded, onnx_field::kAttributeTensor,
                        [&](Bytes part, int) { return edit_tensor(part, node.output(0)); });
    if (!attribute.has_g()) return {};
    return each_field(encoded, onnx_field::kAttributeGraph, [&](Bytes part, int) -> Status {
      ASSAY_CHECK_OK(each_field(part, onnx_field::kGraphInitializer,
                                [&](Bytes tensor, int) { return edit_tensor(tensor, std::nullopt); }));
      return edit_nodes(part, attribute.g());
    });
  }

  // `name`: of the value, if the tensor has none of its own.
  Status edit_tensor(Bytes encoded, const std::optional<std::string>& name) const {
    onnx::TensorProto proto;
    if (!proto.ParseFromArray(encoded.data(), static_cast<int>(encoded.size()))) return {};
    if (name) proto.set_name(*name);
    CheckedTensor tensor;
    tensor.proto = &proto;
    tensor.dtype = static_cast<DType>(proto.data_type());
    tensor.elements = 1;
    for (const std::int64_t extent : proto.dims()) tensor.elements *= extent;
    const bool is_external = proto.data_location() == onnx::TensorProto::EXTERNAL;
    return is_external || !is_weight(tensor, fixed_) ? Status() : editor_.edit_message(tensor, encoded);
  }

  const Editor& editor_;
  const std::unordered_set<std::string_view>& fixed_;
};

Status write_changed(const fs::path& from, Change change, const fs::path& to, const Cancelled& cancelled) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(from));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  const fs::path folder = to.has_parent_path() ? to.parent_path() : fs::path(".");
  ASSAY_CHECK_OK(make_directories(folder));
  std::error_code error;
  if (fs::equivalent(folder, from.has_parent_path() ? from.parent_path() : fs::path("."), error)) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is in the model's own folder", shown_path(to)),
                "write it into another folder");
  }
  ASSAY_TRY(const Copy model, Copy::make(from, to, cancelled));
  std::map<fs::path, Copy> external;
  for (const auto* tensors : {&checked.initializers, &checked.constants}) {
    for (const CheckedTensor& tensor : *tensors) {
      if (!tensor.external || external.contains(tensor.external->location)) continue;
      const fs::path target = folder / tensor.external->location;
      if (target.lexically_normal() == (folder / to.filename()).lexically_normal())
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} is the place of the model's data {}", shown_path(to),
                                shown_path(tensor.external->location)),
                    "give the copy another name");
      ASSAY_CHECK_OK(make_directories(target.parent_path()));
      ASSAY_TRY(Copy copy, Copy::make(tensor.external->file, target, cancelled));
      external.emplace(tensor.external->location, std::move(copy));
    }
  }
  const Editor editor(file, model, change, cancelled);
  TensorReader reader(file);
  std::unordered_set<std::string_view> fixed;
  add_shape_deciding(file.model().graph(), fixed);
  ASSAY_TRY(const std::vector<Bytes> encoded, encoded_initializers(file.bytes()));
  ASSAY_CHECK(encoded.size() == checked.initializers.size(), "both walk the same initialisers");
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    const CheckedTensor& tensor = checked.initializers[i];
    if (!is_weight(tensor, fixed)) continue;
    if (tensor.external) {
      ASSAY_TRY(const Bytes bytes, reader.bytes(tensor));
      ASSAY_CHECK_OK(editor.edit_range(tensor, bytes, external.at(tensor.external->location), tensor.external->offset));
    } else {
      ASSAY_CHECK_OK(editor.edit_message(tensor, encoded[i]));
    }
  }
  if (!change.perturb_seed) return {};
  const ConstantEditor constants(editor, fixed);
  return each_field(file.bytes(), onnx_field::kModelGraph,
                    [&](Bytes graph, int) { return constants.edit_nodes(graph, file.model().graph()); });
}

}  // namespace

Status write_perturbed(const fs::path& from, DType dtype, std::uint64_t seed, const fs::path& to,
                       const Cancelled& cancelled) {
  return write_changed(from, {dtype, seed}, to, cancelled);
}

Status write_rounded(const fs::path& from, DType dtype, const fs::path& to, const Cancelled& cancelled) {
  return write_changed(from, {dtype, std::nullopt}, to, cancelled);
}

}  // namespace assay
