// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/index_limits.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace assay {
namespace {

class Tables {
 public:
  explicit Tables(const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& t : graph.initializer()) tensors_.emplace(t.name(), &t);
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& output : node.output()) makers_.emplace(output, &node);
      for (int i = 0; i < node.input_size(); ++i) readers_[node.input(i)].push_back({&node, i});
    }
  }

  [[nodiscard]] std::optional<std::int64_t> limit_of(const std::string& input) const {
    std::optional<std::int64_t> limit;
    const auto narrow = [&](std::optional<std::int64_t> rows) {
      if (rows && *rows > 0) limit = std::min(limit.value_or(*rows), *rows);
    };
    std::unordered_set<std::string_view> seen{input};
    std::vector<std::string_view> open{input};
    while (!open.empty()) {
      const auto readers = readers_.find(open.back());
      open.pop_back();
      if (readers == readers_.end()) continue;
      for (const auto& [node, index] : readers->second) {
        narrow(rows_selected(*node, index));
        if (!passes_on(*node, index)) continue;
        for (const std::string& output : node->output()) {
          if (seen.insert(output).second) open.push_back(output);
        }
      }
    }
    return limit;
  }

 private:
  struct Reader {
    const onnx::NodeProto* node;
    int index;
  };

  static std::int64_t attribute(const onnx::NodeProto& node, std::string_view name) {
    for (const onnx::AttributeProto& a : node.attribute()) {
      if (a.name() == name) return a.i();
    }
    return 0;
  }

  // How many rows of a constant table the values at this input can select, if they do.
  [[nodiscard]] std::optional<std::int64_t> rows_selected(const onnx::NodeProto& node, int index) const {
    const auto table = [&](int input, std::int64_t axis) -> std::optional<std::int64_t> {
      return input < node.input_size() ? extent(node.input(input), axis, 0) : std::nullopt;
    };
    if (is_any(node.op_type(), {"Gather", "GatherElements", "GatherBlockQuantized"}) && index == 1) {
      return table(0, attribute(node, node.op_type() == "GatherBlockQuantized" ? "gather_axis" : "axis"));
    }
    if (node.op_type() == "EmbedLayerNormalization") {  // com.microsoft: ids, segments, then their tables
      if (index == 0) return table(2, 0);
      if (index == 1) return table(4, 0);
      if (index == 8) return table(3, 0);
    }
    return std::nullopt;
  }

  static bool passes_on(const onnx::NodeProto& node, int index) {
    if (node.op_type() == "Concat") return true;
    if (node.op_type() == "Where") return index > 0;
    return index == 0 &&
           is_any(node.op_type(), {"Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose",
                                   "Slice", "Expand", "Tile", "Split", "Gather", "GatherElements"});
  }

  // An extent of a constant, seen through operators that keep its shape; the depth bounds chains and cycles.
  [[nodiscard]] std::optional<std::int64_t> extent(const std::string& name, std::int64_t axis, int depth) const {
    const auto of = [&](const onnx::TensorProto& t) -> std::optional<std::int64_t> {
      const std::int64_t at = axis < 0 ? axis + t.dims_size() : axis;
      if (at < 0 || at >= t.dims_size()) return std::nullopt;
      return t.dims(static_cast<int>(at));
    };
    if (const auto it = tensors_.find(name); it != tensors_.end()) return of(*it->second);
    const auto maker = makers_.find(name);
    if (maker == makers_.end() || depth > 8) return std::nullopt;
    const onnx::NodeProto& node = *maker->second;
    if (node.op_type() == "Constant" && node.attribute_size() == 1 && node.attribute(0).has_t())
      return of(node.attribute(0).t());
    if (is_any(node.op_type(), {"Identity", "Cast", "DequantizeLinear", "QuantizeLinear"}) && node.input_size() > 0) {
      return extent(node.input(0), axis, depth + 1);
    }
    return std::nullopt;
  }

  std::unordered_map<std::string_view, const onnx::TensorProto*> tensors_;
  std::unordered_map<std::string_view, const onnx::NodeProto*> makers_;
  std::unordered_map<std::string_view, std::vector<Reader>> readers_;
};

}  // namespace

std::map<std::string, std::int64_t> index_limits(const onnx::GraphProto& graph) {
  const Tables tables(graph);
  std::map<std::string, std::int64_t> limits;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (const auto limit = tables.limit_of(input.name())) limits.emplace(input.name(), *limit);
  }
  return limits;
}

}  // namespace assay
