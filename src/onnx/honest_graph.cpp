// SPDX-License-Identifier: Apache-2.0
#include "onnx/honest_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "onnx/graph_check.hpp"
#include "onnx/model_writer.hpp"
#include "onnx/value_types.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "assay:";
// Rounding x times such a factor, and dividing again, rounds to other numbers; small integers stay exact.
constexpr std::array<float, 5> kGrids{1.0F, 1.5F, 1.25F, 1.75F, 1.125F};
// Their outputs are elements of their inputs, which are rounded already.
constexpr std::array<std::string_view, 30> kMove{
    "Identity",      "Reshape",   "Transpose",      "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "Concat",
    "Gather",        "GatherND",  "GatherElements", "Expand",  "Tile",      "Where",   "Pad",   "TopK",  "MaxPool",
    "GlobalMaxPool", "ReduceMax", "ReduceMin",      "Max",     "Min",       "Relu",    "Neg",   "Abs",   "DepthToSpace",
    "SpaceToDepth",  "ScatterND", "ScatterElements"};
// What the zoo's bfloat16 graphs compute in float32, besides norms (builder/graph_precision.cpp).
constexpr std::array<std::string_view, 13> kWithoutBFloat16{
    "AveragePool", "Conv",    "ConvTranspose", "Elu",      "GlobalAveragePool", "GlobalMaxPool",        "HardSigmoid",
    "HardSwish",   "MaxPool", "Selu",          "Softplus", "Softsign",          "InstanceNormalization"};
// Their type is their own, whatever the types of their inputs.
constexpr std::array<std::string_view, 4> kMakers{"Constant", "ConstantOfShape", "EyeLike", "Bernoulli"};

template <std::size_t N>
bool is_one_of(std::string_view op, const std::array<std::string_view, N>& operators) {
  return std::ranges::find(operators, op) != operators.end();
}

std::string bytes_of(float value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
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

bool has_raw(const OnnxFile& file, const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(),
                             [&](const onnx::AttributeProto& a) { return a.has_t() && file.has_raw(a.t()); });
}

/// The nodes of a copy, in order, and the constants that they need.
class NodeList {
 public:
  explicit NodeList(const OnnxFile& file) : file_(file) {}

  void keep(std::size_t place) { nodes_.push_back({place, {}}); }
  void add(const onnx::NodeProto& node) { nodes_.push_back({std::nullopt, node.SerializeAsString()}); }

  onnx::NodeProto make(const char* op, const std::vector<std::string>& inputs, const std::string& output) {
    onnx::NodeProto node;
    node.set_op_type(op);
    node.set_name(fmt::format("{}node:{}", kPrefix, nodes_.size()));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return node;
  }
  std::string op(const char* type, const std::vector<std::string>& inputs) {
    std::string output = fresh();
    add(make(type, inputs, output));
    return output;
  }
  std::string cast(const std::string& from, DType to, std::string output = {}) {
    if (output.empty()) output = fresh();
    onnx::NodeProto node = make("Cast", {from}, output);
    set_integer(node, "to", static_cast<std::int64_t>(to));
    add(node);
    return output;
  }
  std::string constant(float value) {
    std::string name = fmt::format("{}constant:{}", kPrefix, value);
    if (known_.insert(name).second) constants_.push_back({name, DType::kFloat32, {}, bytes_of(value)});
    return name;
  }
  static void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto_AttributeType_INT);
    attribute.set_i(value);
  }
  static void set_float(onnx::NodeProto& node, const char* name, float value) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto_AttributeType_FLOAT);
    attribute.set_f(value);
  }
  std::string fresh() { return fmt::format("{}value:{}", kPrefix, values_++); }

  Status write(const CheckedGraph& checked, bool typed, const fs::path& to) const {
    std::vector<ExternalRange> external;
    for (const auto* tensors : {&checked.initializers, &checked.constants})
      for (const CheckedTensor& tensor : *tensors)
        if (tensor.external) external.push_back(*tensor.external);
    ASSAY_CHECK_OK(make_directories(to.has_parent_path() ? to.parent_path() : fs::path(".")));
    return write_nodes(file_, nodes_, constants_, typed, external, to);
  }

 private:
  const OnnxFile& file_;
  std::vector<WrittenNode> nodes_;
  std::vector<AddedConstant> constants_;
  std::set<std::string> known_;
  std::size_t values_ = 0;
};

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
    if (!after && !is_one_of(node.op_type(), kWithoutBFloat16)) return;
    for (const std::string& output : node.output()) {
      const auto found = types_.find(output);
      if (found != types_.end() && found->second == DType::kFloat32) high_.insert(output);
    }
  }
  static std::string wide(const std::string& value) { return fmt::format("{}wide:{}", kPrefix, value); }

  void widen_given(const std::string& name) {
    if (is_low(name) && given_.insert(name).second) list_.cast(name, DType::kFloat32, wide(name));
  }

  Status add(std::size_t place) {
    const onnx::NodeProto& before = graph_.node(static_cast<int>(place));
    find_high(before);
    const bool gives = std::ranges::any_of(before.output(), [&](const auto& o) { return is_rounded(o); });
    if (is_one_of(before.op_type(), kMakers)) {
      list_.keep(place);
      if (narrow_)
        for (const std::string& output : before.output()) widen_given(output);
      return {};
    }
    const bool reads = narrow_ && std::ranges::any_of(before.input(), [&](const auto& i) { return is_low(i); });
    // A cast to float32 inside a 16-bit graph rounds nothing.
    const bool casts = narrow_ && before.op_type() == "Cast" && !is_low(before.output(0));
    const bool moves = casts || is_one_of(before.op_type(), kMove);
    if (!reads && (!gives || (moves && !narrow_))) {
      list_.keep(place);
      return narrow_ && has_graph(before) ? inner() : Status{};
    }
    if (has_graph(before)) {
      if (narrow_) return inner();
      list_.keep(place);
      return {};
    }
    if (has_raw(file_, before))
      return fail(ErrorCode::kUnsupported, fmt::format("node '{}' has a large tensor", sanitise(before.name())));
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

/// Where an operator quantises its own result: the places of scale and zero point.
struct ResultScale {
  std::string_view op;
  int scale;
};
constexpr std::array<ResultScale, 11> kResultScales{{{"QLinearConv", 6},
                                                     {"QLinearMatMul", 6},
                                                     {"QLinearAdd", 6},
                                                     {"QLinearMul", 6},
                                                     {"QGemm", 7},
                                                     {"QLinearSigmoid", 3},
                                                     {"QLinearSoftmax", 3},
                                                     {"QLinearLeakyRelu", 3},
                                                     {"QLinearAveragePool", 3},
                                                     {"QLinearGlobalAveragePool", 3},
                                                     {"QLinearReduceMean", 3}}};

// Steps: one integer in eight changes by one, of numbers before they are rounded and of integers.
constexpr float kNoise = 0.5F, kNoiseOfIntegers = 8.0F / 7.0F;

/// The copy that quantises other numbers.
class QuantisationNoise {
 public:
  QuantisationNoise(const OnnxFile& file, std::uint64_t seed)
      : file_(file), graph_(file.model().graph()), seed_(seed), types_(value_types(graph_)), list_(file) {
    for (const onnx::TensorProto& tensor : graph_.initializer()) constants_.emplace(tensor.name(), elements_of(tensor));
    for (const onnx::NodeProto& node : graph_.node())
      if (node.op_type() == "Constant") constants_.emplace(node.output(0), 0);
  }

  Status collect() {
    for (int i = 0; i < graph_.node_size(); ++i) ASSAY_CHECK_OK(add(static_cast<std::size_t>(i)));
    return {};
  }
  [[nodiscard]] std::size_t sites() const { return sites_; }
  [[nodiscard]] Status write(const CheckedGraph& checked, const fs::path& to) const {
    return list_.write(checked, true, to);
  }

 private:
  static std::int64_t elements_of(const onnx::TensorProto& tensor) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : tensor.dims()) elements *= extent;
    return elements;
  }

  // x plus a uniform random number within ± half of `step`, times `amplitude`.
  std::string noisy(const std::string& x, const std::string& step, float amplitude) {
    ++sites_;
    onnx::NodeProto random = list_.make("RandomUniformLike", {x}, list_.fresh());
    NodeList::set_float(random, "low", -0.5F * amplitude);
    NodeList::set_float(random, "high", 0.5F * amplitude);
    NodeList::set_float(random, "seed", static_cast<float>((seed_ * 7919 + sites_) % 1000003));
    list_.add(random);
    return list_.op("Add", {x, list_.op("Mul", {random.output(0), step})});
  }

  // The steps of a quantisation whose range is that of the activation.
  std::string range_step(const std::string& x, bool symmetric) {
    const auto reduced = [&](const char* op, const std::string& of) {
      onnx::NodeProto node = list_.make(op, {of}, list_.fresh());
      NodeList::set_integer(node, "keepdims", 0);
      list_.add(node);
      return node.output(0);
    };
    if (symmetric) return list_.op("Mul", {reduced("ReduceMax", list_.op("Abs", {x})), list_.constant(1.0F / 127.0F)});
    const std::string high = list_.op("Relu", {reduced("ReduceMax", x)});
    const std::string low = list_.op("Relu", {list_.op("Neg", {reduced("ReduceMin", x)})});
    return list_.op("Mul", {list_.op("Add", {high, low}), list_.constant(1.0F / 255.0F)});
  }

  Status add(std::size_t place) {
    const onnx::NodeProto& before = graph_.node(static_cast<int>(place));
    const std::string& op = before.op_type();
    const auto fixed = [&](int input) {
      return input >= before.input_size() || constants_.contains(before.input(input));
    };
    const auto result = std::ranges::find(kResultScales, op, &ResultScale::op);
    if (op == "QuantizeLinear" && !fixed(0) && is_scalar(before.input(1))) {
      return replace(before, noisy(before.input(0), before.input(1), kNoise));
    }
    const auto type = before.input_size() > 0 ? types_.find(before.input(0)) : types_.end();
    const bool float32 = type != types_.end() && type->second == DType::kFloat32;
    if ((op == "DynamicQuantizeLinear" || op == "DynamicQuantizeMatMul") && !fixed(0) && float32)
      return replace(before, noisy(before.input(0), range_step(before.input(0), false), kNoise));
    if (op == "MatMulNBits" && !fixed(0) && float32 && accuracy(before) == 4)
      return replace(before, noisy(before.input(0), range_step(before.input(0), true), kNoise));
    if (result != kResultScales.end() && before.input_size() > result->scale && is_scalar(before.input(result->scale)))
      return shake(before, result->scale);
    list_.keep(place);
    return {};
  }

  static std::int64_t accuracy(const onnx::NodeProto& node) {
    for (const onnx::AttributeProto& a : node.attribute())
      if (a.name() == "accuracy_level") return a.i();
    return 0;
  }

  [[nodiscard]] bool is_scalar(const std::string& name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() || found->second <= 1;
  }

  Status replace(const onnx::NodeProto& before, const std::string& input) {
    ASSAY_CHECK_OK(movable(before));
    onnx::NodeProto node = before;
    node.set_input(0, input);
    list_.add(node);
    return {};
  }

  // The integers of the result become numbers again, change, and are quantised once more.
  Status shake(const onnx::NodeProto& before, int scale) {
    ASSAY_CHECK_OK(movable(before));
    onnx::NodeProto node = before;
    node.set_output(0, list_.fresh());
    list_.add(node);
    std::vector<std::string> with{before.input(scale)};
    if (before.input_size() > scale + 1 && !before.input(scale + 1).empty()) with.push_back(before.input(scale + 1));
    std::vector<std::string> inputs{node.output(0)};
    inputs.insert(inputs.end(), with.begin(), with.end());
    inputs[0] = noisy(list_.op("DequantizeLinear", inputs), before.input(scale), kNoiseOfIntegers);
    list_.add(list_.make("QuantizeLinear", inputs, before.output(0)));
    return {};
  }

  [[nodiscard]] Status movable(const onnx::NodeProto& node) const {
    if (!has_raw(file_, node)) return {};
    return fail(ErrorCode::kUnsupported, fmt::format("node '{}' has a large tensor", sanitise(node.name())));
  }

  const OnnxFile& file_;
  const onnx::GraphProto& graph_;
  std::uint64_t seed_;
  ValueTypes types_;
  NodeList list_;
  std::unordered_map<std::string, std::int64_t> constants_;  ///< elements; 0: not known
  std::size_t sites_ = 0;
};

}  // namespace

Status write_rounded_results(const fs::path& from, DType dtype, std::uint64_t seed, const fs::path& to) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(from));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  return Rounding(file, dtype, seed).write(checked, to);
}

bool is_quantised(std::span<const std::pair<std::string, std::string>> operators) {
  return std::ranges::any_of(operators, [](const auto& found) {
    const std::string_view op = found.second;
    return op == "QuantizeLinear" || op == "DequantizeLinear" || op.starts_with("DynamicQuantize") ||
           op.starts_with("QLinear") || op.starts_with("MatMulInteger") || op == "ConvInteger" || op == "QGemm" ||
           op == "QAttention" || op == "QEmbedLayerNormalization" || op.ends_with("NBits") || op.ends_with("Bnb4");
  });
}

Result<std::size_t> write_quantisation_noise(const fs::path& from, std::uint64_t seed, const fs::path& to) {
  ASSAY_TRY(const OnnxFile file, OnnxFile::open(from));
  ASSAY_TRY(const CheckedGraph checked, check_graph(file, physical_memory()));
  QuantisationNoise noise(file, seed);
  ASSAY_CHECK_OK(noise.collect());
  ASSAY_CHECK_OK(noise.write(checked, to));
  return noise.sites();
}

}  // namespace assay
