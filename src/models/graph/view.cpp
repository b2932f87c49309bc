// SPDX-License-Identifier: Apache-2.0
#include "models/graph/view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "core/base/text.hpp"
#include "models/graph/view_state.hpp"

namespace assay::graph {
namespace {

using Names = std::vector<std::string_view>;

// The names that a graph in an attribute reads from the graphs around it.
Names captured_by(const Graph& graph) {
  std::unordered_set<std::string_view> own;
  for (const ValueInfo& input : graph.inputs) own.insert(input.name);
  for (const Constant& tensor : graph.initializers) own.insert(tensor.name);
  for (const Constant& tensor : graph.sparse_initializers) own.insert(tensor.name);
  for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  Names captured;
  const auto take = [&](std::string_view name) {
    if (!own.contains(name)) captured.push_back(name);
  };
  for (const Node& node : graph.nodes)
    for (const std::string_view name : reads_of(node)) take(name);
  for (const ValueInfo& output : graph.outputs) take(output.name);
  return captured;
}

std::string described(const Constant& constant) {
  return fmt::format("tensor {} ({} {})", shown(constant.name), to_string(constant.dtype), to_string(constant.shape));
}

}  // namespace

Names reads_of(const Node& node) {
  Names reads;
  std::unordered_set<std::string_view> seen{""};
  const auto take = [&](std::string_view name) {
    if (seen.insert(name).second) reads.push_back(name);
  };
  using Inner = std::shared_ptr<const Graph>;
  for (const std::string_view input : node.inputs) take(input);
  for (const Attribute& attribute : node.attributes) {
    if (const auto* one = attribute.get<Inner>())
      for (const std::string_view name : captured_by(**one)) take(name);
    if (const auto* several = attribute.get<std::vector<Inner>>())
      for (const Inner& graph : *several)
        for (const std::string_view name : captured_by(*graph)) take(name);
  }
  return reads;
}

const Attribute* Node::attribute(std::string_view wanted) const {
  const auto found = std::ranges::find(attributes, wanted, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

std::int64_t Node::integer(std::string_view wanted, std::int64_t otherwise) const {
  const Attribute* found = attribute(wanted);
  const auto* value = found == nullptr ? nullptr : found->get<std::int64_t>();
  return value == nullptr ? otherwise : *value;
}

float Node::number(std::string_view wanted, float otherwise) const {
  const Attribute* found = attribute(wanted);
  const auto* value = found == nullptr ? nullptr : found->get<float>();
  return value == nullptr ? otherwise : *value;
}

std::string_view Node::text(std::string_view wanted, std::string_view otherwise) const {
  const Attribute* found = attribute(wanted);
  const auto* value = found == nullptr ? nullptr : found->get<std::string_view>();
  return value == nullptr ? otherwise : *value;
}

std::optional<std::span<const std::int64_t>> Node::integers(std::string_view wanted) const {
  const Attribute* found = attribute(wanted);
  const auto* value = found == nullptr ? nullptr : found->get<std::span<const std::int64_t>>();
  return value == nullptr ? std::nullopt : std::optional(*value);
}

bool Graph::has_output(std::string_view wanted) const {
  return std::ranges::find(outputs, wanted, &ValueInfo::name) != outputs.end();
}

std::string Node::operator_name() const {
  return domain.empty() ? std::string(op_type) : fmt::format("{}:{}", domain, op_type);
}

std::string_view Node::shown_name() const { return name.empty() && !outputs.empty() ? outputs.front() : name; }

const std::filesystem::path& Model::path() const { return state_->file.path(); }
const Graph& Model::graph() const { return state_->graph; }
std::span<const Function> Model::functions() const { return state_->functions; }

std::optional<std::int64_t> Model::opset(std::string_view domain) const {
  const auto found = state_->opsets.find(domain);
  return found == state_->opsets.end() ? std::nullopt : std::optional(found->second);
}

Result<std::shared_ptr<const MappedFile>> Model::State::external_file(const std::filesystem::path& path) const {
  const std::scoped_lock lock(mutex_);
  if (const auto found = external_.find(path); found != external_.end()) return found->second;
  ASSAY_TRY(MappedFile map, MappedFile::open(path));
  return external_.emplace(path, std::make_shared<const MappedFile>(std::move(map))).first->second;
}

std::vector<ExternalRange> Model::State::inner_external() const {
  std::vector<ExternalRange> all;
  for (std::size_t i = initializers; i < tensors.size(); ++i)
    if (tensors[i].external) all.push_back(*tensors[i].external);
  return all;
}

Result<ConstantData> Model::data(const Constant& constant) const {
  if (constant.sparse || constant.dtype == DType::kString) {
    return fail(ErrorCode::kUnsupported, fmt::format("{} has no packed elements: it {}", described(constant),
                                                     constant.sparse ? "is sparse" : "has strings"));
  }
  ASSAY_CHECK(constant.place_ < state_->tensors.size(), "a constant of this model");
  const CheckedTensor& tensor = state_->tensors[constant.place_];
  if (tensor.external) {
    ASSAY_TRY(const std::shared_ptr<const MappedFile> map, state_->external_file(tensor.external->file));
    ASSAY_TRY(const Bytes bytes, external_bytes(*map, tensor));
    return ConstantData{bytes, map};
  }
  if (const Bytes raw = state_->file.raw(*tensor.proto); !raw.empty()) return ConstantData{raw, state_};
  const auto decoded = std::make_shared<const std::vector<std::byte>>(decode_fields(tensor));
  return ConstantData{Bytes(*decoded), decoded};
}

Result<std::optional<Model::FilePlace>> Model::place(const Constant& constant) const {
  ASSAY_TRY(const ConstantData found, data(constant));
  if (constant.external) return FilePlace{constant.external->file, constant.external->offset};
  const Bytes whole = state_->file.bytes();
  const std::less_equal<> before;
  if (!before(whole.data(), found.bytes.data()) ||
      !before(found.bytes.data() + found.bytes.size(), whole.data() + whole.size()))
    return std::nullopt;
  return FilePlace{path(), static_cast<std::uint64_t>(found.bytes.data() - whole.data())};
}

Result<ConstantData> Model::aligned_data(const Constant& constant, bool matches, std::size_t width) const {
  if (!matches) {
    return fail(ErrorCode::kMismatch, fmt::format("{} cannot be read as elements of another type", described(constant)),
                "graph::is_stored_as has the type to read it as; Model::data() gives the packed bytes");
  }
  ASSAY_TRY(ConstantData found, data(constant));
  if (reinterpret_cast<std::uintptr_t>(found.bytes.data()) % width == 0) return found;
  const auto copy = std::make_shared<const std::vector<std::byte>>(found.bytes.begin(), found.bytes.end());
  return ConstantData{Bytes(*copy), copy};
}

}  // namespace assay::graph
