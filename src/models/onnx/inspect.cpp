// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <assay/extent_name.hpp>

#include "core/base/hash.hpp"
#include "core/base/text.hpp"
#include "models/onnx/graph_check.hpp"
#include "models/onnx/index_limits.hpp"
#include "models/onnx/inspect.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLatestPlausibleIr = 50;  // below 20, and not one a year

std::string_view kind_of(const onnx::TypeProto& type) {
  switch (type.value_case()) {
    case onnx::TypeProto::kSequenceType:
      return "a sequence";
    case onnx::TypeProto::kMapType:
      return "a map";
    case onnx::TypeProto::kOptionalType:
      return "optional";
    case onnx::TypeProto::kSparseTensorType:
      return "a sparse tensor";
    case onnx::TypeProto::kOpaqueType:
      return "opaque";
    default:
      return "a tensor";
  }
}

// An input or output as engines see it. Outputs may leave their type to be inferred; inputs may not.
Result<ModelValue> to_value(const onnx::ValueInfoProto& info, bool is_input) {
  const std::string what = fmt::format("{} {}", is_input ? "input" : "output", shown(info.name()));
  if (!is_utf8(info.name()) || info.name().find('\0') != std::string::npos) {
    return fail(ErrorCode::kInvalidArgument, what + ": its name is not valid UTF-8 text");
  }
  if (info.name() == "__metadata__")
    return fail(ErrorCode::kUnsupported,
                what + ": safetensors, which inputs and outputs are kept as, has no tensor of that name");
  ModelValue value{.name = info.name()};
  const onnx::TypeProto& type = info.type();
  if (type.value_case() == onnx::TypeProto::VALUE_NOT_SET) {
    if (is_input) return fail(ErrorCode::kInvalidArgument, what + " has no type");
    value.has_rank = false;
    return value;
  }
  if (!type.has_tensor_type()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{} is {}: only tensors can be fed, timed and compared", what, kind_of(type)));
  }
  const std::int32_t element = type.tensor_type().elem_type();
  if (element == onnx::TensorProto::STRING) {
    return fail(ErrorCode::kUnsupported, what + " is a tensor of strings: only numbers can be fed, timed and compared");
  }
  if (element != 0 || is_input) {
    ASSAY_TRY(value.dtype, check_element_type(element, what));
  }
  value.has_rank = type.tensor_type().has_shape();
  for (const onnx::TensorShapeProto::Dimension& dim : type.tensor_type().shape().dim()) {
    value.shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    value.symbols.push_back(sanitise(extent_name(dim.dim_param())));
  }
  return value;
}

Status read_signature(const onnx::GraphProto& graph, ModelInfo& info) {
  std::unordered_set<std::string_view> initializers;
  for (const onnx::TensorProto& tensor : graph.initializer()) initializers.insert(tensor.name());
  for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) initializers.insert(sparse.values().name());
  const auto limits = index_limits(graph);
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (initializers.contains(input.name())) continue;
    ASSAY_TRY(ModelValue value, to_value(input, true));
    if (const auto it = limits.find(value.name); it != limits.end()) value.index_limit = it->second;
    info.inputs.push_back(std::move(value));
  }
  std::unordered_map<std::string_view, std::string_view> makers;
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string& output : node.output()) makers.emplace(output, node.op_type());
  for (const onnx::ValueInfoProto& output : graph.output()) {
    ASSAY_TRY(ModelValue value, to_value(output, false));
    if (const auto it = makers.find(value.name); it != makers.end()) value.made_by = it->second;
    info.outputs.push_back(std::move(value));
  }
  return {};
}

// ---- identity ----

// Lengths before parts, so that no two sequences of parts hash alike.
void add(Sha256& hash, std::string_view part) { hash.update(fmt::format("{}:", part.size())).update(part); }

std::string declaration(const CheckedTensor& tensor) {
  return fmt::format("{} {} {}", to_string(tensor.dtype), to_string(tensor.shape), tensor.proto->name());
}

void strip_data(onnx::TensorProto& tensor) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_string_data();
  tensor.clear_raw_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.clear_doc_string();
  tensor.clear_metadata_props();
}

void strip(onnx::NodeProto& node);

void strip(onnx::GraphProto& graph) {
  graph.clear_doc_string();
  graph.clear_metadata_props();
  graph.clear_value_info();
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) strip_data(tensor);
  for (onnx::NodeProto& node : *graph.mutable_node()) strip(node);
}

// Leaves what computes: no documentation, and tensors as their declarations (their bytes are in the weights' hash).
void strip(onnx::NodeProto& node) {
  node.clear_doc_string();
  node.clear_metadata_props();
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    attribute.clear_doc_string();
    if (attribute.has_t()) strip_data(*attribute.mutable_t());
    for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) strip_data(tensor);
    if (attribute.has_g()) strip(*attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) strip(graph);
  }
}

std::string hash_graph(const onnx::ModelProto& model, const CheckedGraph& checked) {
  Sha256 hash;
  const auto add_nodes = [&](const auto& nodes) {
    for (const onnx::NodeProto& original : nodes) {
      onnx::NodeProto node = original;
      strip(node);
      add(hash, node.SerializeAsString());
    }
  };
  const auto add_values = [&](const auto& values) {
    for (const onnx::ValueInfoProto& value : values) {
      add(hash, value.name());
      add(hash, value.type().SerializeAsString());
    }
  };
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) add(hash, import.SerializeAsString());
  add_values(model.graph().input());
  add_values(model.graph().output());
  for (const CheckedTensor& tensor : checked.initializers) add(hash, declaration(tensor));
  for (const onnx::SparseTensorProto& sparse : model.graph().sparse_initializer())
    add(hash, sparse.SerializeAsString());
  add_nodes(model.graph().node());
  for (const onnx::FunctionProto& function : model.functions()) {
    add(hash, fmt::format("{} {} {}", function.domain(), function.name(), function.overload()));
    for (const std::string& input : function.input()) add(hash, input);
    for (const std::string& output : function.output()) add(hash, output);
    for (const onnx::AttributeProto& attribute : function.attribute_proto()) add(hash, attribute.SerializeAsString());
    for (const onnx::OperatorSetIdProto& import : function.opset_import()) add(hash, import.SerializeAsString());
    add_nodes(function.node());
  }
  return hash.hex();
}

Status read_weights(const OnnxFile& file, const CheckedGraph& checked, bool hashed, const Cancelled& cancelled,
                    ModelInfo& info) {
  Sha256 hash;
  TensorReader reader(file);
  std::set<std::filesystem::path> external;
  for (const auto* tensors : {&checked.initializers, &checked.constants}) {
    for (const CheckedTensor& tensor : *tensors) {
      if (hashed) {
        ASSAY_TRY(const Bytes bytes, reader.bytes(tensor));
        ASSAY_CHECK_OK(hash.update(bytes, cancelled));
      }
      if (tensor.external && external.insert(tensor.external->file).second) {
        info.file_bytes += std::filesystem::file_size(tensor.external->file);
      }
    }
  }
  for (const CheckedTensor& tensor : checked.initializers) {
    info.weight_bytes += tensor.bytes;
    const bool quantised = is_integer(tensor.dtype) && bit_width(tensor.dtype) <= 8;
    if (!tensor.shape.empty() && (is_floating(tensor.dtype) || quantised)) info.parameter_count += tensor.elements;
  }
  if (hashed) info.weights_hash = hash.hex();
  return {};
}

Result<ModelInfo> inspect(const std::filesystem::path& path, bool hashed, const Cancelled& cancelled) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(path));
  const onnx::ModelProto& model = file.model();
  if (model.ir_version() < 1 || model.ir_version() > kLatestPlausibleIr) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not a version of ONNX's IR (ir_version)", model.ir_version()),
                "export or download it again");
  }
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  ModelInfo info;
  info.path = path;
  info.format = "onnx";
  ASSAY_CHECK_OK(read_signature(model.graph(), info));
  for (const onnx::OperatorSetIdProto& import : model.opset_import()) {
    if (normal_domain(import.domain()).empty()) info.opset = import.version();
  }
  info.producer = sanitise(trim(fmt::format("{} {}", model.producer_name(), model.producer_version())));
  info.file_bytes = file.bytes().size();
  info.graph_hash = hash_graph(model, checked);
  ASSAY_CHECK_OK(read_weights(file, checked, hashed, cancelled, info));
  info.operators.assign(checked.operators.begin(), checked.operators.end());
  std::optional<std::int64_t> token, tokens;
  for (const onnx::StringStringEntryProto& entry : model.metadata_props()) {
    if (entry.key() == "assay.family") info.metadata_family = sanitise(entry.value());
    if (entry.key() == "assay.category") info.metadata_category = sanitise(entry.value());
    if (entry.key() == "assay.task") info.metadata_task = sanitise(entry.value());
    if (entry.key() == "assay.image_token") token = parse_number<std::int64_t>(entry.value());
    if (entry.key() == "assay.image_tokens") tokens = parse_number<std::int64_t>(entry.value());
    if (entry.key() == "assay.max_sequence") info.max_sequence = parse_number<std::int64_t>(entry.value());
    // The builder knows which initialisers are parameters; a count would include running
    // statistics and constants.
    if (entry.key() != "assay.parameter_count") continue;
    if (const auto count = parse_number<std::int64_t>(entry.value()); count && *count >= 0)
      info.parameter_count = *count;
  }
  constexpr std::int64_t kMostImageTokens = 1 << 20;
  if (token && tokens && *tokens > 0 && *tokens <= kMostImageTokens) info.image = ImagePlaces{*token, *tokens};
  return info;
}

}  // namespace

Result<ModelInfo> inspect_model(const std::filesystem::path& path, const Cancelled& cancelled) {
  return with_context(inspect(path, true, cancelled), fmt::format("while checking {}", shown_path(path)));
}

Result<ModelInfo> inspect_graph(const std::filesystem::path& path) {
  return with_context(inspect(path, false, {}), fmt::format("while checking {}", shown_path(path)));
}

}  // namespace assay
