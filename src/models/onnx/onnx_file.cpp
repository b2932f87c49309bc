// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/onnx_file.hpp"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <utility>

#include "core/base/text.hpp"
#include "models/onnx/looks_like.hpp"
#include "models/onnx/onnx_field_numbers.hpp"
#include "models/onnx/wire.hpp"

namespace assay {
namespace {

using wire::Field;
using RawTable = std::unordered_map<const onnx::TensorProto*, Bytes>;

// Smaller nodes and attributes are parsed whole: copying a few kilobytes is cheaper than walking them.
constexpr std::size_t kSmall = 4096;

// Goes through the fields in file order: `take` gets those that `selects` returns true for; the runs between them are
// merged by protobuf.
template <class Selects, class Take>
Status merge(Bytes bytes, google::protobuf::MessageLite& message, Selects selects, Take take) {
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
    if (field->type != Field::kBytes || !selects(*field)) continue;
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

Error not_onnx(const std::filesystem::path& path, Bytes bytes, const std::string& problem) {
  const std::string_view kind = looks_like(bytes);
  if (!kind.empty()) {
    return {
        ErrorCode::kInvalidArgument, fmt::format("{} is not an ONNX model: it is {}", shown_path(path), kind), {}, {}};
  }
  return {ErrorCode::kInvalidArgument,
          fmt::format("{} ({} bytes) is not an ONNX model, or it is truncated or damaged: {}", shown_path(path),
                      bytes.size(), problem),
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
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not an ONNX tensor, or it is truncated", shown_path(path)));
  }
  return tensor;
}

}  // namespace assay
