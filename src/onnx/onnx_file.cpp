// SPDX-License-Identifier: Apache-2.0
#include "onnx/onnx_file.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <utility>

#include "base/text.hpp"
#include "onnx/onnx_field_numbers.hpp"
#include "onnx/wire.hpp"

namespace assay {
namespace {

using wire::Field;
using RawTable = std::unordered_map<const onnx::TensorProto*, Bytes>;

// Smaller nodes and attributes are parsed whole: copying a few kilobytes is cheaper than walking them.
constexpr std::size_t kSmall = 4096;

// Field by field, hands those that `wants` to `take` and merges the runs between them the usual way, in file order.
template <class Wants, class Take>
Status merge(Bytes bytes, google::protobuf::MessageLite& message, Wants wants, Take take) {
  const std::byte* run = bytes.data();
  const auto flush = [&](const std::byte* end) -> Status {
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(run), static_cast<int>(end - run));
    if (end != run && !(message.MergePartialFromCodedStream(&in) && in.ConsumedEntireMessage())) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} bytes of it cannot be decoded, or nest deeper than 100 levels", end - run));
    }
    return {};
  };
  wire::FieldReader fields(bytes);
  for (;;) {
    ASSAY_TRY(const std::optional<Field> field, fields.next());
    if (!field) return flush(bytes.data() + bytes.size());
    if (field->type != Field::kBytes || !wants(*field)) continue;
    ASSAY_CHECK_OK(flush(field->whole.data()));
    ASSAY_CHECK_OK(take(*field));
    run = field->whole.data() + field->whole.size();
  }
}

Status merge_tensor(Bytes bytes, onnx::TensorProto& tensor, RawTable& raw) {
  return merge(
      bytes, tensor, [](const Field& f) { return f.number == onnx_field::kTensorRawData; },
      [&](const Field& f) -> Status {
        raw[&tensor] = f.payload;
        return {};
      });
}

Status merge_node(Bytes bytes, onnx::NodeProto& node, RawTable& raw) {
  return merge(
      bytes, node, [](const Field& f) { return f.number == onnx_field::kNodeAttribute && f.payload.size() > kSmall; },
      [&](const Field& attribute) -> Status {
        onnx::AttributeProto& message = *node.add_attribute();
        return merge(
            attribute.payload, message, [](const Field& f) { return f.number == onnx_field::kAttributeTensor; },
            [&](const Field& f) { return merge_tensor(f.payload, *message.mutable_t(), raw); });
      });
}

Status merge_graph(Bytes bytes, onnx::GraphProto& graph, RawTable& raw) {
  return merge(
      bytes, graph,
      [](const Field& f) {
        return f.number == onnx_field::kGraphInitializer ||
               (f.number == onnx_field::kGraphNode && f.payload.size() > kSmall);
      },
      [&](const Field& f) {
        return f.number == onnx_field::kGraphNode ? merge_node(f.payload, *graph.add_node(), raw)
                                                  : merge_tensor(f.payload, *graph.add_initializer(), raw);
      });
}

Status merge_model(Bytes bytes, onnx::ModelProto& model, RawTable& raw) {
  return merge(
      bytes, model, [](const Field& f) { return f.number == onnx_field::kModelGraph; },
      [&](const Field& f) {
        return with_context(merge_graph(f.payload, *model.mutable_graph(), raw), "while reading the graph");
      });
}

bool starts_with(Bytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()) + at, magic.size()) == magic;
}

bool is_text(Bytes bytes) {
  Bytes head = bytes.first(std::min<std::size_t>(bytes.size(), 512));
  const auto is_part_of_longer = [](std::byte b) { return (b & std::byte{0x80}) != std::byte{0}; };
  while (bytes.size() > head.size() && !head.empty() && is_part_of_longer(head.back()))
    head = head.first(head.size() - 1);
  const bool printable = std::all_of(head.begin(), head.end(), [](std::byte b) {
    const auto c = std::to_integer<unsigned char>(b);
    return c >= 0x20 ? c != 0x7F : c == '\n' || c == '\r' || c == '\t' || c == '\f';
  });
  return printable && is_utf8({reinterpret_cast<const char*>(head.data()), head.size()});
}

Error not_onnx(const std::filesystem::path& path, Bytes bytes, const std::string& problem) {
  const std::string_view kind = looks_like(bytes);
  if (!kind.empty()) {
    return {
        ErrorCode::kInvalidArgument, fmt::format("{} is not an ONNX model: it is {}", shown_path(path), kind), {}, {}};
  }
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} ({} bytes) is no ONNX model, or truncated or damaged: {}", shown_path(path), bytes.size(),
                      problem),
          {},
          "export or download it again"};
}

Result<MappedFile> map_message(const std::filesystem::path& path) {
  ASSAY_TRY(MappedFile file, MappedFile::open(path));
  if (file.bytes().empty()) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is empty: 0 bytes", shown_path(path)),
                "export or download it again");
  }
  if (file.bytes().size() > static_cast<std::size_t>(INT_MAX)) {
    const std::string_view kind = looks_like(file.bytes());
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} has {} bytes: {}", shown_path(path), file.bytes().size(),
                            kind.empty() ? "an ONNX file cannot be larger than 2 GiB" : kind),
                "save it with its weights as external data (onnx.save(…, save_as_external_data=True))");
  }
  return file;
}

}  // namespace

Result<OnnxFile> OnnxFile::open(const std::filesystem::path& path) {
  ASSAY_TRY(MappedFile file, map_message(path));
  OnnxFile onnx(std::move(file));
  onnx.path_ = path;
  if (auto merged = merge_model(onnx.bytes(), *onnx.model_, onnx.raw_); !merged) {
    return tl::unexpected(not_onnx(path, onnx.bytes(), merged.error().message));
  }
  if (!onnx.model_->has_graph()) return tl::unexpected(not_onnx(path, onnx.bytes(), "it has no graph"));
  return onnx;
}

bool OnnxFile::has_raw(const onnx::TensorProto& tensor) const {
  return raw_.contains(&tensor) || tensor.has_raw_data();
}

Bytes OnnxFile::raw(const onnx::TensorProto& tensor) const {
  if (const auto it = raw_.find(&tensor); it != raw_.end()) return it->second;
  return std::as_bytes(std::span(tensor.raw_data()));
}

Result<onnx::TensorProto> read_tensor_proto(const std::filesystem::path& path) {
  ASSAY_TRY(const MappedFile file, map_message(path));
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(file.bytes().data(), static_cast<int>(file.bytes().size()))) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} is no ONNX tensor, or truncated", shown_path(path)));
  }
  return tensor;
}

std::string_view looks_like(Bytes bytes) {
  struct Magic {
    std::string_view bytes;
    std::size_t at;
    std::string_view kind;
  };
  static constexpr Magic kMagics[] = {
      {"PK\x03\x04", 0, "a zip archive (a PyTorch checkpoint, TorchScript or .npz; export it with torch.onnx)"},
      {"\x1f\x8b", 0, "gzip-compressed: unpack it first"},
      {"BZh", 0, "bzip2-compressed: unpack it first"},
      {"\xFD"
       "7zXZ",
       0, "xz-compressed: unpack it first"},
      {"\x28\xB5\x2F\xFD", 0, "zstd-compressed: unpack it first"},
      {"\x80\x02", 0, "a Python pickle (a PyTorch checkpoint; export it with torch.onnx)"},
      {"\x80\x03", 0, "a Python pickle"},
      {"\x80\x04", 0, "a Python pickle"},
      {"\x80\x05", 0, "a Python pickle"},
      {"\x89HDF", 0, "an HDF5 file (Keras)"},
      {"GGUF", 0, "a GGUF file (llama.cpp)"},
      {"TFL3", 4, "a TensorFlow Lite model"},
      {"ORTM", 4, "ONNX Runtime's own .ort format, not ONNX"},
      {"\x93NUMPY", 0, "a NumPy array"},
      {"\x7F"
       "ELF",
       0, "an ELF executable or library"},
      {"\x89PNG", 0, "a PNG image"},
      {"\xFF\xD8\xFF", 0, "a JPEG image"},
      {"%PDF", 0, "a PDF document"},
      {"ustar", 257, "a tar archive: unpack it first"},
      {"version https://git-lfs", 0, "a Git LFS pointer, not the file itself: run `git lfs pull`"},
  };
  for (const Magic& magic : kMagics) {
    if (starts_with(bytes, magic.bytes, magic.at)) return magic.kind;
  }
  if (bytes.size() > 9 && bytes[8] == std::byte{'{'} && bytes[7] == std::byte{0} && bytes[6] == std::byte{0}) {
    return "a safetensors file (weights without a graph): give the folder with its config.json instead";
  }
  if (bytes.empty() || !is_text(bytes)) return {};
  const auto* first = std::find_if(bytes.data(), bytes.data() + std::min<std::size_t>(bytes.size(), 512),
                                   [](std::byte b) { return std::isspace(std::to_integer<unsigned char>(b)) == 0; });
  if (first == bytes.data() + bytes.size()) return "blank text";
  if (*first == std::byte{'<'}) return "an HTML or XML page";
  if (*first == std::byte{'{'} || *first == std::byte{'['}) return "JSON text";
  return "plain text";
}

std::string shown(std::string_view name) {
  constexpr std::size_t kMost = 80;
  return fmt::format("'{}{}'", sanitise(name.substr(0, kMost)), name.size() > kMost ? "…" : "");
}

std::string shown_path(const std::filesystem::path& path) { return fmt::format("'{}'", sanitise(path.string())); }

}  // namespace assay
