// SPDX-License-Identifier: Apache-2.0
// Copies that quantise other numbers.
#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/onnx/graph_check.hpp"
#include "models/onnx/honest_graph.hpp"
#include "models/onnx/node_list.hpp"
#include "models/onnx/value_types.hpp"

namespace assay {
namespace fs = std::filesystem;
namespace {

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
    ASSAY_CHECK_OK(check_movable(file_, before));
    onnx::NodeProto node = before;
    node.set_input(0, input);
    list_.add(node);
    return {};
  }

  // The integers of the result become numbers again, change, and are quantised once more.
  Status shake(const onnx::NodeProto& before, int scale) {
    ASSAY_CHECK_OK(check_movable(file_, before));
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

  const OnnxFile& file_;
  const onnx::GraphProto& graph_;
  std::uint64_t seed_;
  ValueTypes types_;
  NodeList list_;
  std::unordered_map<std::string, std::int64_t> constants_;  ///< elements; 0: not known
  std::size_t sites_ = 0;
};

}  // namespace

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
