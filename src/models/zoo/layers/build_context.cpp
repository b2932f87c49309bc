// SPDX-License-Identifier: Apache-2.0
#include "models/zoo/layers/build_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/base/text.hpp"
#include "models/zoo/layers/input_types.hpp"

namespace assay::zoo {

Inputs::Inputs(GraphBuilder& graph, const BuildRequest& request, const Config& config)
    : graph_(&graph), request_(&request) {
  for (const auto& [name, shape] : request.input_shapes) wanted_.insert(name);
  for (const auto& [name, tensor] : request.constants) wanted_.insert(name);
  if (request.input_shapes.empty()) {
    const std::vector<std::string>& usual = config.usual_inputs();
    wanted_.insert(usual.begin(), usual.end());
  }
}

std::optional<Shape> Inputs::shape(const std::string& name) const {
  const auto found = request_->input_shapes.find(name);
  if (found == request_->input_shapes.end()) return std::nullopt;
  return found->second;
}

bool Inputs::serves_the_batch(const std::string& name) const {
  if (name != "attention_mask" && name != "token_type_ids") return false;
  const auto rows = [&](const Shape& asked) { return asked.empty() ? 0 : asked.front(); };
  const auto own = request_->input_shapes.find(name);
  if (own == request_->input_shapes.end() || rows(own->second) != 1) return false;
  const auto ids = request_->input_shapes.find("input_ids");
  return ids != request_->input_shapes.end() && rows(ids->second) > 1;
}

Result<Value> Inputs::take(const std::string& name, const std::vector<DType>& dtypes, const Extents& extents) {
  DType dtype = dtypes.front();
  if (const auto asked = request_->input_dtypes.find(name); asked != request_->input_dtypes.end()) {
    if (std::find(dtypes.begin(), dtypes.end(), asked->second) == dtypes.end()) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("unsupported: input {} of type {}", name, to_string(asked->second)));
    }
    dtype = asked->second;
  }
  Extents made = extents;
  if (serves_the_batch(name)) made.front() = std::int64_t{1};
  if (const std::optional<Shape> asked = shape(name)) {
    if (asked->size() != extents.size()) {
      return fail(ErrorCode::kUnsupported, fmt::format("unsupported: input {} of shape {}", name, to_string(*asked)),
                  fmt::format("it has {} axes", extents.size()));
    }
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      const auto* fixed = std::get_if<std::int64_t>(&extents[axis]);
      if (fixed != nullptr && *fixed != (*asked)[axis]) {
        return fail(ErrorCode::kUnsupported, fmt::format("unsupported: input {} of shape {}", name, to_string(*asked)),
                    fmt::format("the configuration requires {} in axis {}", *fixed, axis));
      }
    }
  }
  wanted_.erase(name);
  return graph_->input(name, dtype, made);
}

void Inputs::leave(const std::string& name) {
  if (request_->input_shapes.empty()) wanted_.erase(name);
}

Result<std::optional<std::vector<std::int64_t>>> Inputs::take_integers(const std::string& name, std::int64_t columns) {
  const auto found = request_->constants.find(name);
  if (found == request_->constants.end()) return std::optional<std::vector<std::int64_t>>();
  const Tensor& tensor = found->second;
  if (tensor.dtype() != DType::kInt64 || tensor.shape().empty() || tensor.shape().back() != columns) {
    return fail(ErrorCode::kUnsupported, fmt::format("unsupported: input {} of type {} and shape {}", name,
                                                     to_string(tensor.dtype()), to_string(tensor.shape())));
  }
  wanted_.erase(name);
  std::vector<std::int64_t> values(tensor.bytes().size() / sizeof(std::int64_t));
  std::memcpy(values.data(), tensor.bytes().data(), values.size() * sizeof(std::int64_t));
  return std::optional(std::move(values));
}

Status Inputs::finish() const {
  for (const std::string& name : wanted_) {
    if (request_->spare_inputs.contains(name)) continue;
    return fail(ErrorCode::kUnsupported, fmt::format("unsupported: input {}", sanitise(name)),
                "the graph that assay builds does not take it");
  }
  return {};
}

Module base_module(const BuildContext& context) {
  const Config& config = context.config;
  return config.bare() ? context.model : context.model / config.architecture().base_prefix;
}

Result<Value> take_position_ids(Inputs& inputs) {
  constexpr const char* kName = "position_ids";
  const std::optional<Shape> asked = inputs.shape(kName);
  const bool one_row = asked && !asked->empty() && asked->front() == 1;
  return inputs.take(kName, kIdTypes, {one_row ? Extent(std::int64_t{1}) : Extent("batch"), "sequence"});
}

}  // namespace assay::zoo
