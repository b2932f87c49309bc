// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/tensor/ulp.hpp"
#include "models/builder/graph_builder_impl.hpp"

namespace assay {
namespace {

using Origin = Initializer::Origin;

bool is_one_of(std::string_view op_type, std::span<const std::string_view> operators) {
  return std::ranges::find(operators, op_type) != operators.end();
}

// Operators of opset 17 that have float16 and no bfloat16.
constexpr std::array<std::string_view, 15> kWithoutBFloat16{
    "AveragePool",          "Conv",      "ConvTranspose", "Cos",  "Elu", "GlobalAveragePool", "GlobalMaxPool",
    "HardSigmoid",          "HardSwish", "MaxPool",       "Selu", "Sin", "Softplus",          "Softsign",
    "InstanceNormalization"};
// Sums of squares, and operators without 16-bit types.
constexpr std::array<std::string_view, 3> kInFloat32{"Range", "ReduceL2", "ReduceSumSquare"};
constexpr std::array<std::string_view, 16> kGiveNoFloats{
    "And",  "ArgMax",      "ArgMin",  "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN",
    "Less", "LessOrEqual", "NonZero", "Not",   "Or",      "Shape",          "Size",  "Xor"};
// The operators that compute most: in the new type again after an operator that does not have it.
constexpr std::array<std::string_view, 3> kLowWithWeights{"Gemm", "LayerNormalization", "MatMul"};
// These read a value of any type.
constexpr std::array<std::string_view, 3> kTakeAnyType{"Cast", "Shape", "Size"};

// float32 bytes as `to`. `bounded`: a number beyond its range becomes a quarter of its largest number.
ByteSource converted(ByteSource source, DType to, bool bounded) {
  const float most = to == DType::kFloat16 ? half_to_float(0x7BFF) : bfloat16_to_float(0x7F7F);
  return [source = std::move(source), to, bounded, most](const ByteSink& sink) {
    std::vector<std::uint16_t> narrow;
    return source([&](std::span<const std::byte> bytes) {
      ASSAY_CHECK(bytes.size() % sizeof(float) == 0, "pieces of whole elements");
      narrow.resize(bytes.size() / sizeof(float));
      for (std::size_t i = 0; i < narrow.size(); ++i) {
        float value = 0.0F;
        std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
        if (bounded && std::abs(value) > most && std::isfinite(value)) value = std::copysign(most / 4, value);
        narrow[i] = to == DType::kFloat16 ? float_to_half(value) : float_to_bfloat16(value);
      }
      return sink(std::as_bytes(std::span(narrow)));
    });
  };
}

/// A walk over the nodes in their order. From then on each float32 value is either low (of the new type) or high
/// (float32 as before). A node that needs the other type reads a cast of the value, which all such nodes share.
/// Constants, and values computed from constants alone, exist in each type that a node needs, without casts.
class Lowering {
 public:
  Lowering(onnx::GraphProto& graph, std::vector<Initializer>& initializers,
           std::map<std::string, std::size_t>& node_names, std::map<std::string, std::string>& renamed, DType to)
      : graph_(graph), initializers_(initializers), node_names_(node_names), renamed_(renamed), to_(to) {}

  void run() {
    for (const Initializer& tensor : initializers_) {
      if (tensor.dtype != DType::kFloat32) continue;
      floats_[tensor.name].kind = tensor.origin == Origin::kWeight ? Kind::kWeight : Kind::kConstant;
      if (is_two(tensor)) two_ = tensor.name;
    }
    for (onnx::ValueInfoProto& input : *graph_.mutable_input())
      if (lower_type(input)) floats_[input.name()] = {};
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (onnx::NodeProto& node : nodes) {
      lower(node);
      *graph_.add_node() = std::move(node);
    }
    lower_outputs();
    drop_unused_constants();
    lower_initializers();
  }

 private:
  enum class Kind { kActivation, kWeight, kConstant };
  struct Float {
    Kind kind = Kind::kActivation;
    bool high = false;                       ///< true: an activation stays float32
    std::string other{};                     ///< its name in the other type; "": no node needed it yet
    std::optional<onnx::NodeProto> maker{};  ///< the original node, if a node computes this constant
  };

  static bool is_two(const Initializer& tensor) {
    if (tensor.origin != Origin::kConstant || !tensor.shape.empty()) return false;
    float value = 0.0F;
    static_cast<void>(tensor.source([&](std::span<const std::byte> bytes) -> Status {
      std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
      return {};
    }));
    return value == 2.0F;
  }

  bool lower_type(onnx::ValueInfoProto& value) const {
    onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
    if (type.elem_type() != static_cast<std::int32_t>(DType::kFloat32)) return false;
    type.set_elem_type(static_cast<std::int32_t>(to_));
    return true;
  }

  Float* find(const std::string& name) {
    const auto found = floats_.find(name);
    return found == floats_.end() ? nullptr : &found->second;
  }

  // The scales of Resize are float32, whatever it resizes.
  static bool stays_float32(const onnx::NodeProto& node, int input) { return node.op_type() == "Resize" && input > 0; }

  [[nodiscard]] bool in_float32(const onnx::NodeProto& node) const {
    if (is_one_of(node.op_type(), kInFloat32)) return true;
    if (to_ == DType::kBFloat16 && is_one_of(node.op_type(), kWithoutBFloat16)) return true;
    return node.op_type() == "Pow" && node.input(1) == two_;  // the squares of a norm
  }

  bool gives_floats(const onnx::NodeProto& node) {
    if (is_one_of(node.op_type(), kGiveNoFloats)) return false;
    if (node.op_type() == "Cast") return node.attribute(0).i() == static_cast<std::int64_t>(DType::kFloat32);
    if (node.op_type() == "ConstantOfShape") return node.attribute_size() == 0;
    return find(node.input(node.op_type() == "Where" ? 1 : 0)) != nullptr;
  }

  void lower(onnx::NodeProto& node) {
    bool any = false, low = false, high = false, varies = false;
    for (int i = 0; i < node.input_size(); ++i) {
      const Float* value = stays_float32(node, i) ? nullptr : find(node.input(i));
      if (value == nullptr) continue;
      any = true;
      varies |= value->kind != Kind::kConstant;
      if (value->kind == Kind::kActivation) (value->high ? high : low) = true;
      if (value->kind == Kind::kWeight && is_one_of(node.op_type(), kLowWithWeights)) low = true;
    }
    const bool gives = gives_floats(node);
    // A node with float outputs and no float inputs is a cast of integers.
    bool as_high = in_float32(node) || (high && !low) || !any;
    std::optional<onnx::NodeProto> maker;
    if (any && !varies && gives && !as_high) maker = node;
    if (is_one_of(node.op_type(), kTakeAnyType)) {
      if (const Float* value = find(node.input(0))) as_high = value->high;
      if (gives && !as_high) node.mutable_attribute(0)->set_i(static_cast<std::int64_t>(to_));
    } else {
      for (int i = 0; i < node.input_size(); ++i)
        if (find(node.input(i)) != nullptr)
          node.set_input(i, in_type(path_of(node), node.input(i), as_high || stays_float32(node, i)));
    }
    if (!gives) return;
    const bool one = node.op_type() == "MaxPool" || node.op_type() == "TopK";  // then come indices
    for (int i = 0; i < (one ? 1 : node.output_size()); ++i)
      floats_[node.output(i)] = {maker ? Kind::kConstant : Kind::kActivation, as_high, {}, maker};
  }

  static std::string path_of(const onnx::NodeProto& node) { return node.name().substr(0, node.name().rfind('/')); }

  // The value's name in the requested type; the node that converts it is added at `path`.
  std::string in_type(const std::string& path, const std::string& name, bool high) {
    Float& value = floats_.at(name);
    if (value.kind != Kind::kActivation ? !high : value.high == high) return name;
    if (!value.other.empty()) return value.other;
    if (value.kind != Kind::kConstant) {
      value.other = cast(path, name, high ? DType::kFloat32 : to_);
    } else {
      value.other = name + "_float32";
      if (value.maker) add_twin(path, *value.maker);
    }
    return value.other;
  }

  // The node of constants once more, in float32.
  void add_twin(const std::string& path, onnx::NodeProto node) {
    for (int i = 0; i < node.input_size(); ++i)
      if (find(node.input(i)) != nullptr) node.set_input(i, in_type(path, node.input(i), true));
    node.set_name(node.name() + "_float32");
    for (std::string& output : *node.mutable_output()) {
      floats_.at(output).other = output + "_float32";
      output += "_float32";
    }
    *graph_.add_node() = std::move(node);
  }

  std::string cast(const std::string& path, const std::string& from, DType to) {
    std::string name = path + "/Cast";
    if (const std::size_t before = node_names_[name]++; before > 0) name += fmt::format("_{}", before);
    onnx::NodeProto& node = *graph_.add_node();
    node.set_name(name);
    node.set_op_type("Cast");
    node.add_input(from);
    node.add_output(name + "_output_0");
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("to");
    attribute.set_type(onnx::AttributeProto_AttributeType_INT);
    attribute.set_i(static_cast<std::int64_t>(to));
    return node.output(0);
  }

  void lower_outputs() {
    const std::map<std::string, std::string> before = renamed_;
    for (const auto& [name, output] : before) {
      const Float* value = find(name);
      if (value == nullptr || !value->high) continue;
      renamed_.erase(name);
      renamed_[in_type("", name, false)] = output;
    }
    for (onnx::ValueInfoProto& output : *graph_.mutable_output()) lower_type(output);
    for (onnx::ValueInfoProto& declared : *graph_.mutable_value_info())
      if (const Float* value = find(declared.name()); value != nullptr && !value->high) lower_type(declared);
  }

  // Nodes that compute constants which are needed in float32 only.
  void drop_unused_constants() {
    std::set<std::string> used;
    for (const auto& [name, output] : renamed_) used.insert(name);
    auto& nodes = *graph_.mutable_node();
    for (int i = nodes.size() - 1; i >= 0; --i) {
      const onnx::NodeProto& node = nodes[i];
      const Float* made = find(node.output(0));
      if (made != nullptr && made->maker &&
          std::ranges::none_of(node.output(), [&](const auto& o) { return used.contains(o); }))
        nodes.DeleteSubrange(i, 1);
      else
        used.insert(node.input().begin(), node.input().end());
    }
  }

  void lower_initializers() {
    std::set<std::string> used;
    for (const onnx::NodeProto& node : graph_.node()) used.insert(node.input().begin(), node.input().end());
    std::vector<Initializer> all;
    for (Initializer& tensor : initializers_) {
      const Float* value = tensor.dtype == DType::kFloat32 ? find(tensor.name) : nullptr;
      if (value == nullptr) {
        all.push_back(std::move(tensor));
        continue;
      }
      const bool constant = value->kind == Kind::kConstant;
      if (constant && !value->other.empty()) {
        all.push_back(tensor);
        all.back().name = value->other;
        if (!used.contains(tensor.name)) continue;
      }
      tensor.source = converted(std::move(tensor.source), to_, constant);
      tensor.dtype = to_;
      all.push_back(std::move(tensor));
    }
    initializers_ = std::move(all);
  }

  onnx::GraphProto& graph_;
  std::vector<Initializer>& initializers_;
  std::map<std::string, std::size_t>& node_names_;
  std::map<std::string, std::string>& renamed_;
  DType to_;
  std::string two_{};  ///< the constant 2.0
  std::map<std::string, Float> floats_{};
};

}  // namespace

void GraphBuilder::lower_floats(DType to) {
  ASSAY_CHECK(to == DType::kFloat16 || to == DType::kBFloat16, "a type of 16 bits");
  Lowering(impl_->graph, impl_->initializers, impl_->node_names, impl_->renamed, to).run();
}

void GraphBuilder::round_weights(DType to) {
  for (Initializer& tensor : impl_->initializers) {
    if (tensor.origin != Origin::kWeight || tensor.dtype != DType::kFloat32) continue;
    tensor.source = [source = std::move(tensor.source), to](const ByteSink& sink) {
      std::vector<std::byte> rounded;
      return source([&](std::span<const std::byte> bytes) {
        rounded.assign(bytes.begin(), bytes.end());
        round_to_precision(DType::kFloat32, rounded, to);
        return sink(rounded);
      });
    };
  }
}

}  // namespace assay
