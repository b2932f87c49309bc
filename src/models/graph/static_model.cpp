// SPDX-License-Identifier: Apache-2.0
#include "models/graph/static_model.hpp"

#include <algorithm>
#include <cstring>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

template <class T, class As>
std::vector<As> unpacked(Bytes bytes) {
  std::vector<As> elements;
  elements.reserve(bytes.size() / sizeof(T));
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    elements.push_back(static_cast<As>(value));
  }
  return elements;
}

bool may_be_known(DType dtype, std::int64_t elements) {
  return (folds(dtype) && elements <= kMostElements) || (has_reals(dtype) && elements <= kMostReals);
}

// Reads a small tensor; of a larger one the shape is enough.
Result<StaticValue> read(const graph::Model& model, const graph::Constant& constant) {
  if (constant.sparse || !may_be_known(constant.dtype, count_of(constant.shape)))
    return StaticValue{constant.dtype, constant.shape};
  ASSAY_TRY(const graph::ConstantData data, model.data(constant));
  return known_value(constant.dtype, constant.shape, data.bytes);
}

Status read_constants(StaticModel::State& state) {
  const graph::Graph& graph = state.model.graph();
  for (const auto* constants : {&graph.initializers, &graph.sparse_initializers}) {
    for (const graph::Constant& constant : *constants) {
      ASSAY_TRY(state.initializers[std::string(constant.name)], read(state.model, constant));
      state.weight_bytes += constant.bytes;
    }
  }
  for (const graph::Node& node : graph.nodes) {
    if (!node.domain.empty()) continue;
    const graph::Attribute* value = node.attribute("value");
    const auto* constant = value == nullptr ? nullptr : value->get<graph::Constant>();
    if (constant == nullptr) continue;
    ASSAY_TRY(state.values[&node], read(state.model, *constant));
  }
  return {};
}

}  // namespace

StaticValue known_value(DType dtype, const Shape& shape, Bytes bytes) {
  StaticValue known{dtype, shape};
  if (!may_be_known(dtype, count_of(shape))) return known;
  if (dtype == DType::kInt64) known.elements = unpacked<std::int64_t, std::int64_t>(bytes);
  if (dtype == DType::kInt32) known.elements = unpacked<std::int32_t, std::int64_t>(bytes);
  if (dtype == DType::kBool) known.elements = unpacked<std::uint8_t, std::int64_t>(bytes);
  if (dtype == DType::kFloat32) known.reals = unpacked<float, double>(bytes);
  if (dtype == DType::kFloat64) known.reals = unpacked<double, double>(bytes);
  if (dtype == DType::kFloat16 || dtype == DType::kBFloat16) {
    known.reals.emplace();
    for (const auto bits : unpacked<std::uint16_t, std::uint16_t>(bytes))
      known.reals->push_back(dtype == DType::kFloat16 ? half_to_float(bits) : bfloat16_to_float(bits));
  }
  settle_elements(known);
  return known;
}

Result<StaticModel> StaticModel::open(const std::filesystem::path& model) {
  ASSAY_TRY(graph::Model opened, graph::Model::open(model));
  return of(std::move(opened));
}

Result<StaticModel> StaticModel::of(graph::Model model) {
  auto state = std::make_shared<State>(std::move(model));
  ASSAY_CHECK_OK(read_constants(*state));
  StaticModel opened;
  opened.state_ = std::move(state);
  return opened;
}

const graph::Model& StaticModel::model() const { return state_->model; }

}  // namespace assay
