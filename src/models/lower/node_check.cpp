// SPDX-License-Identifier: Apache-2.0
#include "models/lower/node_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include "core/base/text.hpp"
#include "models/graph/shape_rules.hpp"
#include "models/lower/signatures.hpp"
#include "models/lower/static_program.hpp"

namespace assay::lowering {
namespace {

using graph::Node;

constexpr std::size_t kMostAxes = 64;
constexpr std::int64_t kMostInTensor = std::int64_t{1} << 38;  // so that products with attributes fit into 64 bits
constexpr std::int64_t kMostCount = 1 << 24;

tl::unexpected<Error> contradiction(const Node& node, const std::string& what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("node {} ({}): {}", shown(node.shown_name()), sanitise(node.operator_name()), what));
}

// Ranks that functions rely on and shape rules do not check.
struct Rank {
  std::string_view op_type;
  std::size_t input, least, most;
};
constexpr Rank kRanks[] = {
    {"AffineGrid", 0, 3, 3},
    {"Attention", 3, 1, 4},
    {"Attention", 6, 1, 1},
    {"BatchNormalization", 0, 2, kMostAxes},
    {"BatchNormalization", 1, 1, 1},
    {"BatchNormalization", 2, 1, 1},
    {"BatchNormalization", 3, 1, 1},
    {"BatchNormalization", 4, 1, 1},
    {"CausalConvWithState", 2, 1, 1},
    {"CausalConvWithState", 3, 3, 3},
    {"ConvTranspose", 2, 1, 1},
    {"DeformConv", 3, 1, 1},
    {"GRU", 3, 2, 2},
    {"GRU", 4, 1, 1},
    {"GRU", 5, 3, 3},
    {"Gemm", 2, 0, 2},
    {"GridSample", 0, 3, 5},
    {"GroupNormalization", 0, 2, kMostAxes},
    {"GroupNormalization", 1, 1, 1},
    {"GroupNormalization", 2, 1, 1},
    {"InstanceNormalization", 0, 2, kMostAxes},
    {"InstanceNormalization", 1, 1, 1},
    {"InstanceNormalization", 2, 1, 1},
    {"LRN", 0, 2, kMostAxes},
    {"LSTM", 3, 2, 2},
    {"LSTM", 4, 1, 1},
    {"LSTM", 5, 3, 3},
    {"LSTM", 6, 3, 3},
    {"LSTM", 7, 2, 2},
    {"LinearAttention", 3, 4, 4},
    {"LinearAttention", 4, 3, 3},
    {"LinearAttention", 5, 3, 3},
    {"NegativeLogLikelihoodLoss", 2, 1, 1},
    {"OneHot", 2, 1, 1},
    {"QLinearConv", 8, 1, 1},
    {"RNN", 3, 2, 2},
    {"RNN", 4, 1, 1},
    {"RNN", 5, 3, 3},
    {"Resize", 0, 1, 8},
    {"RoiAlign", 2, 1, 1},
    {"RotaryEmbedding", 3, 2, 2},
    {"STFT", 2, 1, 1},
    {"SoftmaxCrossEntropyLoss", 2, 1, 1},
    {"TensorScatter", 0, 2, kMostAxes},
    {"TensorScatter", 2, 1, 1},
    {"Trilu", 0, 2, kMostAxes},
    {"Upsample", 0, 1, 8},
};

// Attributes that functions divide by, repeat by, or allocate by, of all operators.
struct Counted {
  std::string_view name;
  std::int64_t least, most;
};
constexpr Counted kCounted[] = {
    {"batch_dims", 0, kMostAxes},    {"block_size", 0, kMostCount},  {"blocksize", 1, kMostCount},
    {"group", 1, kMostCount},        {"k", -kMostCount, kMostCount}, {"num_groups", 1, kMostCount},
    {"offset_group", 1, kMostCount}, {"output_height", 1, 1 << 14},  {"output_width", 1, 1 << 14},
    {"sampling_ratio", 0, 1 << 10},  {"size", 1, 1 << 12},
};

// Attributes that are the number of a type to compute in; 0 leaves it to the operator.
constexpr std::string_view kTypes[] = {"precision", "softmax_precision"};

// How many numbers the functions of either dialect compute and list, from the first input and output.
double listed_numbers(const Node& node, const Shape& in, const Shape& out) {
  const auto product = [](const Shape& shape, std::size_t first) {
    double all = 1;
    for (std::size_t i = first; i < shape.size(); ++i) all *= static_cast<double>(shape[i]);
    return all;
  };
  const auto longest = [](const Shape& shape) {
    return shape.empty() ? 0.0 : static_cast<double>(*std::ranges::max_element(shape));
  };
  const std::string_view op = node.op_type;
  for (const std::string_view by_axis : {"AffineGrid", "BlackmanWindow", "EyeLike", "HammingWindow", "HannWindow",
                                         "OneHot", "Resize", "ReverseSequence", "TensorScatter", "Upsample"})
    if (op == by_axis) return longest(out);
  if (op == "MelWeightMatrix") return product(out, 0);
  if (op == "AveragePool") return product(out, 2);
  if (op == "STFT") return 2 * product(out, 1);
  if (op == "Col2Im") return product(in, 1);
  if (op == "DeformConv") return product(out, 2);
  if (op == "MaxPool" || op == "GatherND") return in.empty() ? 0 : product(in, 0) / std::max(product(in, 2), 1.0);
  return 0;
}

class NodeChecker {
 public:
  NodeChecker(const Node& node, const StaticGraph& graph, const Signature& signature)
      : node_(node), graph_(graph), signature_(signature) {
    for (std::size_t i = 0; i < signature.inputs.size(); i += 2) {
      expected_.push_back({signature.inputs[i]});
      if (i + 1 < signature.inputs.size() && signature.inputs[i + 1] != ' ')
        expected_.back().kind = signature.inputs[++i];
    }
  }

  Status check_names() const {
    const bool is_open = !expected_.empty() && expected_.back().kind == '*';
    if (!is_open && node_.inputs.size() > expected_.size())
      return contradiction(
          node_, fmt::format("{} inputs; the operator has at most {}", node_.inputs.size(), expected_.size()));
    for (std::size_t i = 0; i < std::max(expected_.size(), node_.inputs.size()); ++i)
      if (expected(i).kind != '?' && !has_input(node_, i))
        return contradiction(node_, fmt::format("input {} is missing", i));
    if (node_.outputs.size() > signature_.most_outputs)
      return contradiction(
          node_, fmt::format("{} outputs; the operator has at most {}", node_.outputs.size(), signature_.most_outputs));
    if (signature_.has_first_output && (node_.outputs.empty() || node_.outputs[0].empty()))
      return contradiction(node_, "output 0 has no name");
    return {};
  }

  Status check_tensors(TypeCheck has_type) const {
    for (const auto* names : {&node_.inputs, &node_.outputs}) {
      for (const std::string_view name : *names) {
        if (name.empty()) continue;
        const StaticValue* value = graph_.find(name);
        const bool is_known = value != nullptr && value->shape;
        // A further output that nothing reads may be unknown.
        if (!is_known && names == &node_.outputs && name != node_.outputs[0]) continue;
        if (!is_known) return refuse(node_, fmt::format("the value {}, whose shape is not known,", shown(name)));
        if (!has_type(value->dtype)) return refuse(node_, fmt::format("the type {}", to_string(value->dtype)));
        if (const auto why = unfit(*value, has_type))
          return fail(ErrorCode::kUnsupported,
                      fmt::format("{} of node {} ({}) {}", shown(name), shown(node_.shown_name()),
                                  sanitise(node_.operator_name()), *why));
      }
    }
    std::map<char, DType> types;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      if (!has_input(node_, i)) continue;
      const auto [known, is_first] = types.emplace(expected(i).type, dtype(i));
      if (known->second != dtype(i))
        return contradiction(node_, fmt::format("input {} is {}; the operator needs {}, the type of another input", i,
                                                to_string(dtype(i)), to_string(known->second)));
    }
    return {};
  }

  Status check_ranks() const {
    for (const Rank& rank : kRanks) {
      if (rank.op_type != node_.op_type || !has_input(node_, rank.input)) continue;
      const std::size_t own = shape(rank.input).size();
      if (own < rank.least || own > rank.most)
        return contradiction(node_,
                             fmt::format("input {} has the rank {}; valid is {}", rank.input, own,
                                         rank.least == rank.most ? fmt::format("{}", rank.least)
                                                                 : fmt::format("{} to {}", rank.least, rank.most)));
    }
    return {};
  }

  Status check_numbers(TypeCheck has_type) const {
    for (const Counted& counted : kCounted) {
      const std::int64_t own = node_.integer(counted.name, counted.least);
      if (own < counted.least || own > counted.most)
        return contradiction(node_, fmt::format("the attribute {} is {}; valid is {} to {}", counted.name, own,
                                                counted.least, counted.most));
    }
    for (const std::string_view name : kTypes) {
      const std::int64_t own = node_.integer(name, 0);
      const auto type = static_cast<DType>(own);
      if (own != 0 && (own != static_cast<std::int64_t>(type) || !is_floating(type) || !has_type(type)))
        return refuse(node_, fmt::format("the {} {}", name,
                                         own == static_cast<std::int64_t>(type) ? to_string(type)
                                                                                : std::string_view("without a name")));
    }
    // Places in the input beyond any image.
    if (node_.op_type == "Resize" && has_input(node_, 1))
      if (const auto& reals = graph_.find(node_.inputs[1])->reals;
          reals && std::ranges::any_of(*reals, [](double real) { return !(std::abs(real) <= kMostCount); }))
        return contradiction(node_, "a region or scale that is too large");
    const Shape none;
    const StaticValue* out =
        node_.outputs.empty() || node_.outputs[0].empty() ? nullptr : graph_.find(node_.outputs[0]);
    return check_listed(node_, listed_numbers(node_, has_input(node_, 0) ? shape(0) : none,
                                              out != nullptr && out->shape ? *out->shape : none));
  }

 private:
  struct Input {
    char type = 'a';
    char kind = ' ';
  };
  [[nodiscard]] Input expected(std::size_t i) const {
    if (i < expected_.size()) return expected_[i];
    return expected_.empty() ? Input{} : expected_.back();
  }
  [[nodiscard]] DType dtype(std::size_t i) const { return graph_.find(node_.inputs[i])->dtype; }
  [[nodiscard]] const Shape& shape(std::size_t i) const { return *graph_.find(node_.inputs[i])->shape; }

  const Node& node_;
  const StaticGraph& graph_;
  const Signature& signature_;
  std::vector<Input> expected_;
};

}  // namespace

std::optional<std::string> unfit(const StaticValue& value, TypeCheck has_type) {
  if (!has_type(value.dtype))
    return fmt::format("has elements of type {}, which cannot be lowered", to_string(value.dtype));
  if (value.shape->size() > kMostAxes)
    return fmt::format("has {} axes; at most {} can be lowered", value.shape->size(), kMostAxes);
  const auto is_large = [](std::int64_t extent) { return extent > kMostInTensor; };
  if (count_of(*value.shape) > kMostInTensor || std::ranges::any_of(*value.shape, is_large))
    return fmt::format("has the shape {}; at most 2^38 elements can be lowered", assay::to_string(*value.shape));
  return std::nullopt;
}

Status check_node(const Node& node, const StaticGraph& graph, TypeCheck has_type) {
  const Signature* signature = node.domain.empty() ? signature_of(node.op_type) : nullptr;
  if (signature == nullptr) return {};
  const NodeChecker checker(node, graph, *signature);
  ASSAY_CHECK_OK(checker.check_names());
  ASSAY_CHECK_OK(checker.check_tensors(has_type));
  ASSAY_CHECK_OK(checker.check_ranks());
  return checker.check_numbers(has_type);
}

}  // namespace assay::lowering
