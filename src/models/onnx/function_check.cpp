// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/function_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/text.hpp"
#include "models/onnx/graph_check.hpp"
#include "models/onnx/onnx_file.hpp"

namespace assay {
namespace {

constexpr std::uint64_t kMostNodes = 10'000'000;

std::string key(const std::string& domain, const std::string& name, const std::string& overload) {
  return fmt::format("{}\n{}\n{}", normal_domain(domain), name, overload);
}

class Calls {
 public:
  explicit Calls(const onnx::ModelProto& model) : model_(model) {}

  Status check() {
    for (const onnx::FunctionProto& function : model_.functions()) {
      if (function.name().empty()) return fail(ErrorCode::kInvalidArgument, "a local function has no name");
      if (!functions_.emplace(function_key(function), Function{&function}).second) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("function {} is defined twice", shown(function.name())));
      }
    }
    for (auto& [unused, function] : functions_) ASSAY_CHECK_OK(expand(function, 0).map([](auto) {}));
    return expand_all(model_.graph().node(), 0).map([](auto) {});
  }

 private:
  struct Function {
    const onnx::FunctionProto* proto = nullptr;
    bool open = false;                     // being expanded: meeting it again is a recursion
    std::optional<std::uint64_t> nodes{};  // once known
  };

  Result<std::uint64_t> expand(Function& function, int depth) {
    if (function.nodes) return *function.nodes;
    if (depth > 1000)
      return fail(ErrorCode::kInvalidArgument, "local functions call each other more than 1000 levels deep");
    if (function.open) {
      return fail(ErrorCode::kInvalidArgument, fmt::format("function {} calls itself", shown(function.proto->name())));
    }
    function.open = true;
    ASSAY_TRY(function.nodes, expand_all(function.proto->node(), depth + 1));
    function.open = false;
    return *function.nodes;
  }

  Result<std::uint64_t> expand_all(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes, int depth) {
    std::uint64_t total = 0;
    for (const onnx::NodeProto& node : nodes) {
      const auto it = functions_.empty() ? functions_.end() : functions_.find(function_key(node));
      std::uint64_t own = 1;
      if (it != functions_.end()) {
        ASSAY_TRY(own, expand(it->second, depth));
      }
      total += own;
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) {
          ASSAY_TRY(own, expand_all(attribute.g().node(), depth));
          total += own;
        }
        for (const onnx::GraphProto& graph : attribute.graphs()) {
          ASSAY_TRY(own, expand_all(graph.node(), depth));
          total += own;
        }
      }
      if (total > kMostNodes) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("the graph has more than {} nodes once local functions are inlined", kMostNodes));
      }
    }
    return total;
  }

  const onnx::ModelProto& model_;
  std::unordered_map<std::string, Function> functions_;
};

}  // namespace

std::string function_key(const onnx::FunctionProto& f) { return key(f.domain(), f.name(), f.overload()); }
std::string function_key(const onnx::NodeProto& call) { return key(call.domain(), call.op_type(), call.overload()); }

Status check_function_calls(const onnx::ModelProto& model) { return Calls(model).check(); }

}  // namespace assay
