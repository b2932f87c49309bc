// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <optional>
#include <set>

#include "core/base/files.hpp"
#include "models/builder/graph_builder_impl.hpp"
#include "models/onnx/onnx_field_numbers.hpp"
#include "models/onnx/wire.hpp"

// protobuf cannot stream: a message is whole in memory before it is written. So the small parts (graph without weights,
// each tensor's header) are serialised by protobuf and put together here by the wire format's rule that a message is
// the concatenation of its fields: https://protobuf.dev/programming-guides/encoding

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kExternalAlignment = 4096;  // runtimes map external data by the page
constexpr std::uint64_t kExternalMinimum = 1024;    // smaller tensors stay in the model file
constexpr std::uint64_t kLargestTable = 1 << 22;    // that is written when weights are not
constexpr std::uint64_t kMostTables = 1 << 26;      // bytes of such tables

Status write_weight(PendingFile& file, const Initializer& tensor, std::uint64_t size, const Cancelled& cancelled) {
  std::uint64_t written = 0;
  const ByteSink sink = [&](std::span<const std::byte> piece) -> Status {
    ASSAY_CHECK_OK(check_cancelled(cancelled));
    written += piece.size();
    return file.write(piece);
  };
  ASSAY_CHECK_OK(tensor.source(sink));
  if (written != size) {
    return fail(ErrorCode::kInternal, fmt::format("tensor '{}' gave {} bytes, but its shape {} needs {}", tensor.name,
                                                  written, to_string(tensor.shape), size));
  }
  return {};
}

struct PlannedTensor {
  const Initializer* tensor = nullptr;
  std::string header;  ///< the TensorProto without raw_data
  std::uint64_t size = 0;
  std::optional<std::uint64_t> external_offset;
};

std::set<std::string> used_names(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) names.insert(node.input().begin(), node.input().end());
  return names;
}

}  // namespace

Status GraphBuilder::write(const fs::path& path, const WriteOptions& options) const {
  ASSAY_TRY(const std::uint64_t total, weight_bytes());
  const bool external = total > options.single_file_bytes || (!options.weights && total > 0);
  const fs::path data_path = path.string() + ".data";

  std::vector<PlannedTensor> plan;
  std::uint64_t external_end = 0;
  std::uint64_t initializer_bytes = 0;
  const auto is_external = [&](const Initializer& tensor, std::uint64_t size) {
    if (!external || options.weights) return external && size >= kExternalMinimum;
    return tensor.origin == Initializer::Origin::kWeight || size > kLargestTable ||
           initializer_bytes + size > kMostTables;
  };
  const std::set<std::string> used = used_names(impl_->graph);
  for (const Initializer& tensor : impl_->initializers) {
    // Runtimes warn of it at every load. A weight that nothing uses stays: it is a mistake to be seen.
    if (tensor.origin == Initializer::Origin::kConstant && !used.contains(tensor.name)) continue;
    PlannedTensor& planned = plan.emplace_back();
    planned.tensor = &tensor;
    ASSAY_TRY(planned.size, byte_size(tensor.dtype, tensor.shape));
    onnx::TensorProto proto;
    proto.mutable_dims()->Add(tensor.shape.begin(), tensor.shape.end());
    proto.set_data_type(static_cast<std::int32_t>(tensor.dtype));
    proto.set_name(tensor.name);
    if (is_external(tensor, planned.size)) {
      planned.external_offset = (external_end + kExternalAlignment - 1) / kExternalAlignment * kExternalAlignment;
      external_end = *planned.external_offset + planned.size;
      proto.set_data_location(onnx::TensorProto_DataLocation_EXTERNAL);
      const auto entry = [&](const char* key, const std::string& value) {
        onnx::StringStringEntryProto& item = *proto.add_external_data();
        item.set_key(key);
        item.set_value(value);
      };
      entry("location", data_path.filename().string());
      entry("offset", std::to_string(*planned.external_offset));
      entry("length", std::to_string(planned.size));
    }
    planned.header = proto.SerializeAsString();
    if (!planned.external_offset) planned.header += wire::header_of(onnx_field::kTensorRawData, planned.size);
    const std::uint64_t message = planned.header.size() + (planned.external_offset ? 0 : planned.size);
    planned.header = wire::header_of(onnx_field::kGraphInitializer, message) + planned.header;
    initializer_bytes += planned.header.size() + (planned.external_offset ? 0 : planned.size);
  }

  onnx::GraphProto graph = impl_->graph;
  const auto rename = [&](std::string& name) {
    if (const auto found = impl_->renamed.find(name); found != impl_->renamed.end()) name = found->second;
  };
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) rename(name);
    for (std::string& name : *node.mutable_output()) rename(name);
  }
  graph.clear_value_info();  // an output states its shape itself
  for (const onnx::ValueInfoProto& info : impl_->graph.value_info()) {
    if (!impl_->renamed.contains(info.name())) *graph.add_value_info() = info;
  }
  const std::string graph_head = graph.SerializeAsString();

  onnx::ModelProto model;
  model.set_ir_version(impl_->opset >= 19 ? 9 : 8);
  model.set_producer_name("assay");
  onnx::OperatorSetIdProto& opset = *model.add_opset_import();
  opset.set_domain("");
  opset.set_version(impl_->opset);
  for (const std::string& domain : impl_->domains) {
    onnx::OperatorSetIdProto& other = *model.add_opset_import();
    other.set_domain(domain);
    other.set_version(1);
  }
  for (const auto& [key, value] : impl_->metadata) {
    onnx::StringStringEntryProto& property = *model.add_metadata_props();
    property.set_key(key);
    property.set_value(value);
  }

  ASSAY_TRY(PendingFile file, PendingFile::create(path));
  ASSAY_CHECK_OK(file.write(model.SerializeAsString()));
  ASSAY_CHECK_OK(file.write(wire::header_of(onnx_field::kModelGraph, graph_head.size() + initializer_bytes)));
  ASSAY_CHECK_OK(file.write(graph_head));
  std::optional<PendingFile> data;
  if (external) {
    ASSAY_TRY(PendingFile created, PendingFile::create(data_path));
    data.emplace(std::move(created));
  }
  std::uint64_t data_end = 0;
  for (const PlannedTensor& planned : plan) {
    ASSAY_CHECK_OK(file.write(planned.header));
    if (planned.external_offset && !options.weights) continue;
    if (planned.external_offset) {
      ASSAY_CHECK_OK(data->write(std::string(*planned.external_offset - data_end, '\0')));
      data_end = *planned.external_offset + planned.size;
    }
    ASSAY_CHECK_OK(
        write_weight(planned.external_offset ? *data : file, *planned.tensor, planned.size, options.cancelled));
  }
  if (data && !options.weights) ASSAY_CHECK_OK(data->grow_to(external_end));
  if (data) ASSAY_CHECK_OK(data->commit(Persistence::kScratch));
  return file.commit(Persistence::kScratch);
}

}  // namespace assay
