// SPDX-License-Identifier: Apache-2.0
#include "models/onnx/graph_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/base/text.hpp"
#include "models/onnx/function_check.hpp"

namespace assay {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Imports = google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto>;

// Values that are there without a node having made them.
constexpr int kGiven = -1;

// ONNX's own sets get about two versions a year and are below 30. Runtimes run what none of them has ever seen, or
// count for minutes up to its number.
constexpr std::int64_t kLatestPlausibleOpset = 50;

struct Scope {
  const Scope* outer = nullptr;
  std::unordered_map<std::string_view, int> values{};  // name → index of the node that makes it, or kGiven

  [[nodiscard]] bool knows(std::string_view name) const {
    return values.contains(name) || (outer != nullptr && outer->knows(name));
  }
};

std::string describe(const onnx::NodeProto& node, int index) {
  if (node.name().empty()) return fmt::format("node #{} ({})", index, sanitise(node.op_type().substr(0, 80)));
  return fmt::format("node {} ({})", shown(node.name()), sanitise(node.op_type().substr(0, 80)));
}

// The nodes of one cycle in the direction of the data, found by following what each waits for until one comes again.
std::string describe_cycle(const Nodes& nodes, const std::vector<std::vector<int>>& needs,
                           const std::vector<bool>& done, int start) {
  std::vector<int> path{start};
  std::unordered_map<int, std::size_t> seen{{start, 0}};
  const auto is_stuck = [&](int node) { return !done[static_cast<std::size_t>(node)]; };
  for (;;) {
    const std::vector<int>& waits_for = needs[static_cast<std::size_t>(path.back())];
    const int next = *std::find_if(waits_for.begin(), waits_for.end(), is_stuck);
    const auto [it, fresh] = seen.emplace(next, path.size());
    path.push_back(next);
    if (fresh) continue;
    constexpr std::size_t kShown = 6;
    const std::size_t length = path.size() - it->second;
    std::string text = describe(nodes[next], next);
    for (std::size_t i = 1; i < length; ++i) {
      const int node = path[path.size() - 1 - i];
      if (length <= kShown || i < kShown - 2 || i + 1 == length)
        text += " → " + describe(nodes[node], node);
      else if (i == kShown - 2)
        text += " → …";
    }
    return text;
  }
}

class Checker {
 public:
  Checker(const OnnxFile& file, std::uint64_t memory) : file_(file), memory_(memory) {}

  Result<CheckedGraph> run() {
    const onnx::ModelProto& model = file_.model();
    for (const onnx::FunctionProto& function : model.functions()) functions_.insert(function_key(function));
    ASSAY_TRY(default_opset_, check_imports(model.opset_import(), "the model", model.ir_version() < 3));
    if (model.graph().output().empty()) return fail(ErrorCode::kInvalidArgument, "the graph has no outputs");
    ASSAY_CHECK_OK(check(model.graph(), nullptr, nullptr));
    ASSAY_CHECK_OK(check_function_calls(model));
    for (const onnx::FunctionProto& function : model.functions()) {
      const std::string name = fmt::format("function {}", shown(function.name()));
      ASSAY_TRY(default_opset_, check_imports(function.opset_import(), name, false));
      ASSAY_CHECK_OK(with_context(check(function), "while checking " + name));
    }
    return std::move(found_);
  }

 private:
  // Whether the default domain is imported.
  static Result<bool> check_imports(const Imports& imports, const std::string& who, bool may_lack) {
    std::unordered_map<std::string_view, std::int64_t> versions;
    for (const onnx::OperatorSetIdProto& import : imports) {
      if (import.version() < 1) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("{} imports version {} of the operator set {}", who,
                                                             import.version(), shown(import.domain())));
      }
      const bool own = normal_domain(import.domain()).empty() || import.domain().starts_with("ai.onnx.");
      if (own && import.version() > kLatestPlausibleOpset) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} imports version {} of the operator set {}, which ONNX does not have", who,
                                import.version(), shown(import.domain())),
                    "export or download it again");
      }
      const auto [it, fresh] = versions.emplace(normal_domain(import.domain()), import.version());
      if (!fresh && it->second != import.version()) {
        return fail(ErrorCode::kInvalidArgument,
                    fmt::format("{} imports versions {} and {} of the operator set {}", who, it->second,
                                import.version(), shown(import.domain())));
      }
    }
    if (imports.empty() && !may_lack && who == "the model") {
      return fail(ErrorCode::kInvalidArgument, "the model imports no operator set (opset_import is missing)",
                  "export or download it again; the file may be cut short");
    }
    return versions.contains("") || may_lack;
  }

  // ---- values ----

  static Status define(Scope& scope, const std::string& name, int by, const std::string& what) {
    if (name.empty()) return fail(ErrorCode::kInvalidArgument, what + " has no name");
    if (!scope.values.emplace(name, by).second) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("value {} is defined twice, the second time by {}", shown(name), what));
    }
    return {};
  }

  Status check_type(const onnx::TypeProto& type, const std::string& what) const {
    switch (type.value_case()) {
      case onnx::TypeProto::kTensorType:
        return check_tensor_type(type.tensor_type(), what);
      case onnx::TypeProto::kSparseTensorType:
        return check_tensor_type(type.sparse_tensor_type(), what);
      case onnx::TypeProto::kSequenceType:
        return check_type(type.sequence_type().elem_type(), what);
      case onnx::TypeProto::kOptionalType:
        return check_type(type.optional_type().elem_type(), what);
      case onnx::TypeProto::kMapType:
        return check_type(type.map_type().value_type(), what);
      default:
        return {};
    }
  }

  template <class TensorType>
  Status check_tensor_type(const TensorType& type, const std::string& what) const {
    DType dtype = DType::kUndefined;
    if (type.elem_type() != 0) {
      ASSAY_TRY(dtype, check_element_type(type.elem_type(), what));
    }
    Shape shape;
    for (const onnx::TensorShapeProto::Dimension& dim : type.shape().dim()) {
      shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
    ASSAY_TRY(const std::uint64_t bytes, check_extents(dtype, shape, true, memory_, what));
    static_cast<void>(bytes);
    return {};
  }

  // ---- tensors ----

  Result<CheckedTensor> check(const onnx::TensorProto& tensor, const std::string& what) const {
    const auto raw = file_.has_raw(tensor) ? std::optional(file_.raw(tensor)) : std::nullopt;
    return check_tensor(tensor, raw, file_.path(), memory_, what);
  }

  Status check_attribute_tensor(const onnx::TensorProto& tensor, const std::string& what) {
    ASSAY_TRY(CheckedTensor checked, check(tensor, what));
    found_.constants.push_back(std::move(checked));
    return {};
  }

  // ---- nodes ----

  Status check_attributes(const onnx::NodeProto& node, const std::string& who, const Scope& scope,
                          std::set<std::string_view>& captured) {
    std::unordered_set<std::string_view> names;
    for (const onnx::AttributeProto& a : node.attribute()) {
      const std::string what = fmt::format("attribute {} of {}", shown(a.name()), who);
      if (a.name().empty())
        return fail(ErrorCode::kInvalidArgument, fmt::format("an attribute of {} has no name", who));
      if (!names.insert(a.name()).second) return fail(ErrorCode::kInvalidArgument, what + " is given twice");
      if (a.ref_attr_name().empty() && ((a.type() == onnx::AttributeProto::TENSOR && !a.has_t()) ||
                                        (a.type() == onnx::AttributeProto::GRAPH && !a.has_g()) ||
                                        (a.type() == onnx::AttributeProto::SPARSE_TENSOR && !a.has_sparse_tensor()))) {
        return fail(ErrorCode::kInvalidArgument, what + " has no value");
      }
      if (a.has_t()) ASSAY_CHECK_OK(check_attribute_tensor(a.t(), what));
      for (const onnx::TensorProto& t : a.tensors()) ASSAY_CHECK_OK(check_attribute_tensor(t, what));
      if (a.has_sparse_tensor()) ASSAY_CHECK_OK(check_sparse(file_, a.sparse_tensor(), memory_, what));
      for (const auto& s : a.sparse_tensors()) ASSAY_CHECK_OK(check_sparse(file_, s, memory_, what));
      if (a.has_g()) ASSAY_CHECK_OK(with_context(check(a.g(), &scope, &captured), "while checking " + what));
      for (const auto& g : a.graphs())
        ASSAY_CHECK_OK(with_context(check(g, &scope, &captured), "while checking " + what));
    }
    return {};
  }

  Status check_operator(const onnx::NodeProto& node, const std::string& who) {
    const std::string domain(normal_domain(node.domain()));
    if (node.op_type().empty()) return fail(ErrorCode::kInvalidArgument, who + " has no operator type");
    if (!is_utf8(node.op_type()) || !is_utf8(node.domain())) {
      return fail(ErrorCode::kInvalidArgument, who + ": its operator's name is not valid UTF-8");
    }
    if (functions_.contains(function_key(node))) return {};
    if (domain.empty() && !default_opset_) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("{} is of ONNX's own operator set, which is not imported (opset_import)", who));
    }
    found_.operators.emplace(domain, node.op_type());
    return {};
  }

  // All nodes of a body; names read that only outer scopes know are added to `captured`.
  Status check_nodes(const Nodes& nodes, Scope& scope, std::set<std::string_view>* captured) {
    for (int i = 0; i < nodes.size(); ++i) {
      for (const std::string& output : nodes[i].output()) {
        if (!output.empty()) ASSAY_CHECK_OK(define(scope, output, i, describe(nodes[i], i)));
      }
    }
    std::vector<std::vector<int>> needs(static_cast<std::size_t>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i) {
      const onnx::NodeProto& node = nodes[i];
      const std::string who = describe(node, i);
      ASSAY_CHECK_OK(check_operator(node, who));
      std::set<std::string_view> reads(node.input().begin(), node.input().end());
      reads.erase("");
      for (const std::string_view name : reads) {
        if (!scope.knows(name)) {
          return fail(ErrorCode::kInvalidArgument,
                      fmt::format("{} reads {}, which nothing produces", who, shown(name)));
        }
      }
      ASSAY_CHECK_OK(check_attributes(node, who, scope, reads));
      for (const std::string_view name : reads) {
        const auto it = scope.values.find(name);
        if (it == scope.values.end()) {
          if (captured != nullptr) captured->insert(name);
        } else if (it->second != kGiven) {
          needs[static_cast<std::size_t>(i)].push_back(it->second);
        }
      }
    }
    return check_acyclic(nodes, needs);
  }

  // Kahn's algorithm: what can never start waits on a cycle.
  static Status check_acyclic(const Nodes& nodes, const std::vector<std::vector<int>>& needs) {
    std::vector<std::vector<int>> feeds(needs.size());
    std::vector<std::size_t> open(needs.size());
    std::vector<bool> done(needs.size(), false);
    std::vector<int> ready;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      open[i] = needs[i].size();
      for (const int n : needs[i]) feeds[static_cast<std::size_t>(n)].push_back(static_cast<int>(i));
      if (open[i] == 0) ready.push_back(static_cast<int>(i));
    }
    while (!ready.empty()) {
      const auto i = static_cast<std::size_t>(ready.back());
      ready.pop_back();
      done[i] = true;
      for (const int n : feeds[i]) {
        if (--open[static_cast<std::size_t>(n)] == 0) ready.push_back(n);
      }
    }
    const auto stuck = std::find(done.begin(), done.end(), false);
    if (stuck == done.end()) return {};
    return fail(ErrorCode::kInvalidArgument,
                "the graph has a cycle: " + describe_cycle(nodes, needs, done, static_cast<int>(stuck - done.begin())));
  }

  // ---- bodies ----

  // The main graph (outer == nullptr) or one inside an attribute.
  Status check(const onnx::GraphProto& graph, const Scope* outer, std::set<std::string_view>* captured) {
    const bool is_main = outer == nullptr;
    Scope scope{outer};
    for (const onnx::ValueInfoProto& input : graph.input()) {
      const std::string what = "input " + shown(input.name());
      ASSAY_CHECK_OK(define(scope, input.name(), kGiven, what));
      ASSAY_CHECK_OK(check_type(input.type(), what));
    }
    ASSAY_CHECK_OK(check_initializers(graph, scope, is_main));
    ASSAY_CHECK_OK(check_nodes(graph.node(), scope, captured));
    for (const onnx::ValueInfoProto& value : graph.value_info()) {
      ASSAY_CHECK_OK(check_type(value.type(), "value " + shown(value.name())));
    }
    std::unordered_set<std::string_view> outputs;
    for (const onnx::ValueInfoProto& output : graph.output()) {
      const std::string what = "output " + shown(output.name());
      if (output.name().empty()) return fail(ErrorCode::kInvalidArgument, "an output has no name");
      if (!scope.knows(output.name())) return fail(ErrorCode::kInvalidArgument, what + " is produced by nothing");
      if (is_main && !outputs.insert(output.name()).second)
        return fail(ErrorCode::kInvalidArgument, what + " is listed twice");
      if (captured != nullptr && !scope.values.contains(output.name())) captured->insert(output.name());
      ASSAY_CHECK_OK(check_type(output.type(), what));
    }
    return {};
  }

  // Initialisers may share their name with an input, which then has a default value.
  Status check_initializers(const onnx::GraphProto& graph, Scope& scope, bool is_main) {
    std::unordered_set<std::string_view> names;
    const auto name_once = [&](const std::string& name) -> Status {
      if (name.empty()) return fail(ErrorCode::kInvalidArgument, "an initializer has no name");
      if (!names.insert(name).second) {
        return fail(ErrorCode::kInvalidArgument, fmt::format("initializer {} is defined twice", shown(name)));
      }
      scope.values.emplace(name, kGiven);
      return {};
    };
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      ASSAY_CHECK_OK(name_once(tensor.name()));
      ASSAY_TRY(CheckedTensor checked, check(tensor, "initializer " + shown(tensor.name())));
      (is_main ? found_.initializers : found_.constants).push_back(std::move(checked));
    }
    for (const onnx::SparseTensorProto& sparse : graph.sparse_initializer()) {
      ASSAY_CHECK_OK(name_once(sparse.values().name()));
      ASSAY_CHECK_OK(check_sparse(file_, sparse, memory_, "sparse initializer " + shown(sparse.values().name())));
    }
    return {};
  }

  Status check(const onnx::FunctionProto& function) {
    Scope scope;
    for (const std::string& input : function.input())
      ASSAY_CHECK_OK(define(scope, input, kGiven, "input " + shown(input)));
    ASSAY_CHECK_OK(check_nodes(function.node(), scope, nullptr));
    for (const std::string& output : function.output()) {
      if (!scope.knows(output))
        return fail(ErrorCode::kInvalidArgument, fmt::format("output {} is produced by nothing", shown(output)));
    }
    return {};
  }

  const OnnxFile& file_;
  std::uint64_t memory_;
  bool default_opset_ = false;
  std::unordered_set<std::string> functions_;
  CheckedGraph found_;
};

}  // namespace

std::string_view normal_domain(const std::string& domain) { return domain == "ai.onnx" ? std::string_view() : domain; }

Result<CheckedGraph> check_graph(const OnnxFile& file, std::uint64_t memory) { return Checker(file, memory).run(); }

}  // namespace assay
