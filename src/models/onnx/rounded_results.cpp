// SPDX-License-Identifier: Apache-2.0
// Copies whose nodes round every result.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/onnx/graph_check.hpp"
#include "models/onnx/honest_graph.hpp"
#include "models/onnx/node_list.hpp"
#include "models/onnx/value_types.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Rounding x times such a factor, and dividing again, rounds to other numbers; small integers stay exact.
constexpr std::array<float, 5> kGrids{1.0F, 1.5F, 1.25F, 1.75F, 1.125F};
// Their outputs are elements of their inputs, which are rounded already.
constexpr std::array<std::string_view, 30> kMove{
    "Identity",      "Reshape",   "Transpose",      "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "Concat",
    "Gather",        "GatherND",  "GatherElements", "Expand",  "Tile",      "Where",   "Pad",   "TopK",  "MaxPool",
    "GlobalMaxPool", "ReduceMax", "ReduceMin",      "Max",     "Min",       "Relu",    "Neg",   "Abs",   "DepthToSpace",
    "SpaceToDepth",  "ScatterND", "ScatterElements"};
// What the zoo's bfloat16 graphs compute in float32, besides norms (models/builder/graph_precision.cpp).
constexpr std::array<std::string_view, 13> kWithoutBFloat16{
    "AveragePool", "Conv",    "ConvTranspose", "Elu",      "GlobalAveragePool", "GlobalMaxPool",        "HardSigmoid",
    "HardSwish",   "MaxPool", "Selu",          "Softplus", "Softsign",          "InstanceNormalization"};
// Their type is their own, whatever the types of their inputs.
constexpr std::array<std::string_view, 4> kMakers{"Constant", "ConstantOfShape", "EyeLike", "Bernoulli"};

template <std::size_t N>
bool is_among(std::string_view op, const std::array<std::string_view, N>& operators) {
  return std::ranges::find(operators, op) != operators.end();
}

std::int64_t opset_of(const onnx::ModelProto& model) {
  for (const onnx::OperatorSetIdProto& import : model.opset_import())
    if (normal_domain(import.domain()).empty()) return import.version();
  return 1;
}

bool has_graph(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(),
                             [](const onnx::AttributeProto& a) { return a.has_g() || a.graphs_size() > 0; });
}

/// The copy with rounded results. In a graph of 16 bits, each low value v is replaced by a float32 value, wide(v).
class Rounding {
 public:
  Rounding(const OnnxFile& file, DType dtype, std::uint64_t seed)
      : file_(file),
        graph_(file.model().graph()),
        types_(value_types(graph_)),
        dtype_(dtype),
        grid_(kGrids[seed % kGrids.size()]),
        opset_(opset_of(file.model())),
        list_(file) {
    narrow_ = std::ranges::any_of(types_, [&](const auto& value) { return value.second == dtype_; });
  }

  Status write(const CheckedGraph& checked, const fs::path& to) {
    if (narrow_) {
      for (const onnx::TensorProto& tensor : graph_.initializer()) widen_given(tensor.name());
      for (const onnx::ValueInfoProto& input : graph_.input()) widen_given(input.name());
    }
    for (int i = 0; i < graph_.node_size(); ++i) ASSAY_CHECK_OK(add(static_cast<std::size_t>(i)));
    if (narrow_)
      for (const onnx::ValueInfoProto& output : graph_.output())
        if (made_.contains(output.name())) list_.cast(wide(output.name()), dtype_, output.name());
    return list_.write(checked, !narrow_, to);
  }

 private:
  [[nodiscard]] bool is_low(const std::string& value) const {
    const auto found = types_.find(value);
    return found != types_.end() && found->second == (narrow_ ? dtype_ : DType::kFloat32);
  }
  [[nodiscard]] bool is_rounded(const std::string& value) const { return is_low(value) || high_.contains(value); }
  // Runtimes that compute in bfloat16 do so in convolutions, too, and after them, where the graph computes in float32
  // because ONNX's operator lacks bfloat16. In float16 such places prevent an overflow.
  void find_high(const onnx::NodeProto& node) {
    if (!narrow_ || dtype_ != DType::kBFloat16) return;
    const bool after = std::ranges::any_of(node.input(), [&](const auto& i) { return high_.contains(i); });
    if (!after && !is_among(node.op_type(), kWithoutBFloat16)) return;
    for (const std::string& output : node.output()) {
      const auto found = types_.find(output);
      if (found != types_.end() && found->second == DType::kFloat32) high_.insert(output);
    }
  }
  static std::string wide(const std::string& value) { return fmt::format("{}wide:{}", kAddedPrefix, value); }

  void widen_given(const std::string& name) {
    if (is_low(name) && given_.insert(name).second) list_.cast(name, DType::kFloat32, wide(name));
  }

  Status add(std::size_t place) {
    const onnx::NodeProto& before = graph_.node(static_cast<int>(place));
    find_high(before);
    const bool gives = std::ranges::any_of(before.output(), [&](const auto& o) { return is_rounded(o); });
    if (is_among(before.op_type(), kMakers)) {
      list_.keep(place);
      if (narrow_)
        for (const std::string& output : before.output()) widen_given(output);
      return {};
    }
    const bool reads = narrow_ && std::ranges::any_of(before.input(), [&](const auto& i) { return is_low(i); });
    // A cast to float32 inside a 16-bit graph rounds nothing.
    const bool casts = narrow_ && before.op_type() == "Cast" && !is_low(before.output(0));
    const bool moves = casts || is_among(before.op_type(), kMove);
    if (!reads && (!gives || (moves && !narrow_))) {
      list_.keep(place);
      return narrow_ && has_graph(before) ? inner() : Status{};
    }
    if (has_graph(before)) {
      if (narrow_) return inner();
      list_.keep(place);
      return {};
    }
    ASSAY_CHECK_OK(check_movable(file_, before));
    onnx::NodeProto node = before;
    if (narrow_)
      for (std::string& input : *node.mutable_input())
        if (is_low(input)) input = wide(input);
    if (node.op_type() == "Cast" && !casts && narrow_) {  // to this type: computed in float32, rounded below
      for (onnx::AttributeProto& a : *node.mutable_attribute())
        if (a.name() == "to") a.set_i(static_cast<std::int64_t>(DType::kFloat32));
    }
    // Runtimes fold a normalisation into the weights before it, which rounds them once more.
    if (grid_ != 1.0F && node.op_type().starts_with("Conv") && node.op_type() != "ConvInteger" &&
        node.input_size() > 1) {
      const std::string weights = list_.fresh();
      round(node.input(1), weights);
      node.set_input(1, weights);
    }
    std::vector<std::pair<std::string, std::string>> rounded;  // from, to
    for (std::string& output : *node.mutable_output()) {
      if (output.empty() || !is_rounded(output)) continue;
      const bool low = is_low(output);
      if (low) made_.insert(output);
      const std::string result = narrow_ && low ? wide(output) : output;
      if (moves) {
        output = result;
        continue;
      }
      const std::string raw = list_.fresh();
      rounded.emplace_back(raw, result);
      output = raw;
    }
    list_.add(node);
    for (const auto& [raw, result] : rounded) round(raw, result);
    return {};
  }

  static Status inner() { return fail(ErrorCode::kUnsupported, "a 16-bit graph with inner graphs"); }

  void round(const std::string& raw, const std::string& result) {
    std::string x = raw;
    if (grid_ != 1.0F) x = list_.op("Mul", {x, list_.constant(grid_)});
    if (!narrow_ && opset_ >= 8) {
      const float most = dtype_ == DType::kFloat16 ? 65504.0F : 3.3895313892515355e38F;
      x = list_.op("Max", {list_.op("Min", {x, list_.constant(most)}), list_.constant(-most)});
    }
    x = list_.cast(x, dtype_);
    if (grid_ == 1.0F) {
      list_.cast(x, DType::kFloat32, result);
      return;
    }
    x = list_.cast(x, DType::kFloat32);
    list_.add(list_.make("Div", {x, list_.constant(grid_)}, result));
  }

  const OnnxFile& file_;
  const onnx::GraphProto& graph_;
  ValueTypes types_;
  DType dtype_;
  float grid_;
  std::int64_t opset_;
  NodeList list_;
  bool narrow_ = false;
  std::unordered_set<std::string> given_, made_;
  std::unordered_set<std::string> high_;  ///< float32 values of a bfloat16 graph that are rounded
};

}  // namespace

Status write_rounded_results(const fs::path& from, DType dtype, std::uint64_t seed, const fs::path& to) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(from));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  return Rounding(file, dtype, seed).write(checked, to);
}

}  // namespace assay
