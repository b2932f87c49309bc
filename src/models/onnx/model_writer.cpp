// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/model_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <set>
#include <string>
#include <unordered_map>

#include "core/base/files.hpp"
#include "core/base/text.hpp"
#include "models/onnx/graph_check.hpp"
#include "models/onnx/onnx_field_numbers.hpp"
#include "models/onnx/onnx_file.hpp"
#include "models/onnx/wire.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

using wire::Field;

// Field numbers of onnx-ml.proto.
constexpr std::uint32_t kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12, kValueInfo = 13,
                        kSparseInitializer = 15;

// A model's fields as its file has them, each with its tag.
struct Encoded {
  std::vector<Bytes> model;  ///< all but the graph and ir_version
  std::vector<Bytes> graph;  ///< all but those that follow, and inputs, outputs and value_info
  std::vector<Bytes> nodes, initializers, sparse_initializers;
};

Status take_graph(Bytes graph, Encoded& to) {
  wire::FieldReader fields(graph);
  for (;;) {
    ASSAY_TRY(const std::optional<Field> field, fields.next());
    if (!field) return {};
    std::vector<Bytes>* list = &to.graph;
    if (field->is(kNode, Field::kBytes)) list = &to.nodes;
    if (field->is(kInitializer, Field::kBytes)) list = &to.initializers;
    if (field->is(kSparseInitializer, Field::kBytes)) list = &to.sparse_initializers;
    if (field->type == Field::kBytes &&
        (field->number == kInput || field->number == kOutput || field->number == kValueInfo))
      continue;
    list->push_back(field->whole);
  }
}

Result<Encoded> take_apart(Bytes model) {
  Encoded encoded;
  wire::FieldReader fields(model);
  for (;;) {
    ASSAY_TRY(const std::optional<Field> field, fields.next());
    if (!field) return encoded;
    if (field->is(onnx_field::kModelGraph, Field::kBytes)) {
      ASSAY_CHECK_OK(take_graph(field->payload, encoded));
    } else if (field->number != onnx_field::kModelIrVersion) {
      encoded.model.push_back(field->whole);
    }
  }
}

// The graph's fields but those added.
std::vector<Bytes> kept_fields(const Encoded& encoded, const ModelParts& parts) {
  std::vector<Bytes> kept = encoded.graph;
  for (const std::size_t place : parts.nodes) kept.push_back(encoded.nodes[place]);
  const auto keep = [&](const std::vector<Bytes>& all, const std::vector<bool>& which) {
    ASSAY_CHECK(all.size() == which.size(), "both walk the same tensors");
    for (std::size_t i = 0; i < all.size(); ++i)
      if (which[i]) kept.push_back(all[i]);
  };
  keep(encoded.initializers, parts.initializers);
  keep(encoded.sparse_initializers, parts.sparse_initializers);
  return kept;
}

bool same_content(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::file_size(a, error) != fs::file_size(b, error) || error) return false;
  const auto left = MappedFile::open(a);
  const auto right = MappedFile::open(b);
  return left && right && std::equal(left->bytes().begin(), left->bytes().end(), right->bytes().begin());
}

// A name for the same bytes, else a copy of them; `to` is the old file or the new one, never half.
Status link_or_copy(const fs::path& from, const fs::path& to) {
  const fs::path fresh = to.string() + ".new";
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_hard_link(fs::canonical(from, error), fresh, error);
  if (error) fs::copy_file(from, fresh, error);
  if (!error) fs::rename(fresh, to, error);
  if (!error) return {};
  std::error_code ignored;
  fs::remove(fresh, ignored);
  const bool refused = error == std::errc::permission_denied || error == std::errc::read_only_file_system;
  return fail(refused ? ErrorCode::kInvalidArgument : ErrorCode::kInternal,
              fmt::format("cannot copy {} to {}: {}", shown_path(from), shown_path(to), error.message()));
}

Status place(const ExternalRange& data, const fs::path& output) {
  const fs::path folder = output.has_parent_path() ? output.parent_path() : fs::path(".");
  const fs::path target = folder / data.location;
  std::error_code error;
  if (target.lexically_normal() == (folder / output.filename()).lexically_normal() ||
      fs::equivalent(data.file, output, error)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is the place of the model's data {}", shown_path(output), shown_path(data.location)),
                "give the output another name");
  }
  if (fs::equivalent(data.file, target, error)) return {};
  ASSAY_CHECK_OK(make_directories(target.parent_path()));
  const bool own = data.location == fs::path(output.filename().string() + ".data");
  if (fs::exists(fs::symlink_status(target, error)) && !own) {
    if (same_content(data.file, target)) return {};
    return fail(ErrorCode::kInvalidArgument, fmt::format("{} exists and is not the model's data", shown_path(target)),
                "write into another folder, or move that file");
  }
  return link_or_copy(data.file, target);
}

Status place_external_data(const std::vector<ExternalRange>& external, const fs::path& output) {
  std::set<fs::path> placed;
  for (const ExternalRange& data : external)
    if (placed.insert(data.location).second) ASSAY_CHECK_OK(place(data, output));
  return {};
}

// Below, ONNX requires every initialiser to be an input, too.
constexpr std::int64_t kFreeInitialisers = 4;

// ir_version and a missing import: nothing that the file has.
std::string head_of(const onnx::ModelProto& before) {
  onnx::ModelProto head;
  head.set_ir_version(std::max(before.ir_version(), kFreeInitialisers));
  const bool imported = std::ranges::any_of(before.opset_import(), [](const onnx::OperatorSetIdProto& import) {
    return normal_domain(import.domain()).empty() && import.version() != 0;
  });
  if (!imported) head.add_opset_import()->set_version(1);
  return head.SerializeAsString();
}

using Values = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

void declare(const DeclaredValue& value, onnx::ValueInfoProto& as) {
  as.set_name(value.name);
  if (!value.shape) return;
  auto& type = *as.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<std::int32_t>(value.dtype));
  type.clear_shape();
  type.mutable_shape();  // a scalar has one too
  for (const std::int64_t extent : *value.shape) type.mutable_shape()->add_dim()->set_dim_value(extent);
}

// `whole`: keeps what the file says of the value beside its type.
void declare_all(const std::vector<DeclaredValue>& values, const Values& before, bool whole, Values& as) {
  std::unordered_map<std::string_view, const onnx::ValueInfoProto*> known;
  for (const onnx::ValueInfoProto& value : before) known.emplace(value.name(), &value);
  for (const DeclaredValue& value : values) {
    const auto found = known.find(value.name);
    onnx::ValueInfoProto& declared = *as.Add();
    if (found != known.end() && (whole || !value.shape)) declared = *found->second;
    declare(value, declared);
  }
}

onnx::GraphProto added_graph(const onnx::GraphProto& before, const ModelParts& parts) {
  onnx::GraphProto added;
  for (const AddedCopy& copy : parts.copies) {
    onnx::NodeProto& node = *added.add_node();
    node.set_op_type("Identity");
    node.set_name(copy.name);
    node.add_input(copy.from);
    node.add_output(copy.to);
  }
  declare_all(parts.inputs, before.input(), true, *added.mutable_input());
  declare_all(parts.outputs, before.output(), true, *added.mutable_output());
  declare_all(parts.values, before.value_info(), false, *added.mutable_value_info());
  return added;
}

onnx::GraphProto constant_graph(const std::vector<AddedConstant>& constants) {
  onnx::GraphProto graph;
  for (const AddedConstant& constant : constants) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.mutable_dims()->Add(constant.shape.begin(), constant.shape.end());
    tensor.set_data_type(static_cast<std::int32_t>(constant.dtype));
    tensor.set_name(constant.name);
    tensor.set_raw_data(constant.bytes);
  }
  return graph;
}

}  // namespace

namespace {

// Writes what is given in this order: the head, the model's fields, the graph: `added`, `kept`, `constants`.
Status write_file(const std::string& head, const Encoded& encoded, const std::string& added,
                  const std::vector<Bytes>& kept, const std::string& constants,
                  const std::vector<ExternalRange>& external, const fs::path& output) {
  std::uint64_t graph = added.size() + constants.size();
  for (const Bytes field : kept) graph += field.size();
  std::uint64_t whole = graph + head.size();
  for (const Bytes field : encoded.model) whole += field.size();
  if (whole > static_cast<std::uint64_t>(INT_MAX) - 16) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("the new file would have {} bytes: an ONNX file cannot be larger than 2 GiB", whole),
                "save the model with its weights as external data (onnx.save(…, save_as_external_data=True))");
  }
  ASSAY_TRY(PendingFile to, PendingFile::create(output));
  ASSAY_CHECK_OK(to.write(head));
  for (const Bytes field : encoded.model) ASSAY_CHECK_OK(to.write(field));
  ASSAY_CHECK_OK(to.write(wire::header_of(onnx_field::kModelGraph, graph)));
  ASSAY_CHECK_OK(to.write(added));
  for (const Bytes field : kept) ASSAY_CHECK_OK(to.write(field));
  ASSAY_CHECK_OK(to.write(constants));
  ASSAY_CHECK_OK(place_external_data(external, output));
  return to.commit(Persistence::kScratch);
}

}  // namespace

Status write_parts(const OnnxFile& file, const ModelParts& parts, const fs::path& output) {
  ASSAY_TRY(const Encoded encoded, take_apart(file.bytes()));
  return write_file(head_of(file.model()), encoded, added_graph(file.model().graph(), parts).SerializeAsString(),
                    kept_fields(encoded, parts), constant_graph(parts.constants).SerializeAsString(), parts.external,
                    output);
}

Status write_nodes(const OnnxFile& file, const std::vector<WrittenNode>& nodes,
                   const std::vector<AddedConstant>& constants, bool typed, const std::vector<ExternalRange>& external,
                   const fs::path& output) {
  ASSAY_TRY(const Encoded encoded, take_apart(file.bytes()));
  const onnx::GraphProto& before = file.model().graph();
  onnx::GraphProto declared;
  *declared.mutable_input() = before.input();
  *declared.mutable_output() = before.output();
  if (typed) *declared.mutable_value_info() = before.value_info();
  std::vector<Bytes> kept = encoded.graph;
  kept.insert(kept.end(), encoded.initializers.begin(), encoded.initializers.end());
  kept.insert(kept.end(), encoded.sparse_initializers.begin(), encoded.sparse_initializers.end());
  std::string added = declared.SerializeAsString();
  for (const WrittenNode& node : nodes) {
    if (node.place) {
      const Bytes whole = encoded.nodes[*node.place];
      added.append(reinterpret_cast<const char*>(whole.data()), whole.size());
    } else {
      added += wire::header_of(kNode, node.encoded.size()) + node.encoded;
    }
  }
  return write_file(head_of(file.model()), encoded, added, kept, constant_graph(constants).SerializeAsString(),
                    external, output);
}

}  // namespace assay
