// SPDX-License-Identifier: Apache-2.0
#include "faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <numbers>
#include <utility>

#include "graph_editor.hpp"

namespace assay::faults {
namespace {

using Places = std::vector<std::function<void(GraphEditor&, double strength)>>;

const onnx::AttributeProto* attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& found : node.attribute())
    if (found.name() == name) return &found;
  return nullptr;
}

onnx::AttributeProto& new_attribute(onnx::NodeProto& node, const char* name) {
  onnx::AttributeProto& made = *node.add_attribute();
  made.set_name(name);
  return made;
}

void set_integer(onnx::NodeProto& node, const char* name, std::int64_t value) {
  onnx::AttributeProto& made = new_attribute(node, name);
  made.set_type(onnx::AttributeProto::INT);
  made.set_i(value);
}

std::string scaled(GraphEditor& graph, const std::string& value, double factor) {
  return graph.add("Mul", {value, graph.scalar_like(factor, value)});
}

// x + f(x), where f contains a product: the place of x among the inputs of the Add, or -1. Scores of attention to which
// a mask or a bias is added are not such a sum, although they depend on the mask of the layers before.
int residual_input(const GraphEditor& graph, int index) {
  const onnx::NodeProto& node = graph.node(index);
  if (node.op_type() != "Add" || node.input_size() != 2 || graph.leads_to_softmax(node.output(0))) return -1;
  for (int i = 0; i < 2; ++i) {
    if (graph.constant(node.input(i)) != nullptr || graph.constant(node.input(1 - i)) != nullptr) return -1;
    if (graph.computes_between(node.input(i), node.input(1 - i))) return i;
  }
  return -1;
}

// One branch of all residual sums is made smaller: f(x), or x itself.
Places residual_sums(const GraphEditor& graph, bool branch) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const int x = residual_input(graph, i);
    if (x < 0) continue;
    const int weaker = branch ? 1 - x : x;
    places.emplace_back([i, weaker](GraphEditor& g, double strength) {
      g.read(i, weaker, scaled(g, g.node(i).input(weaker), 1.0 - strength));
    });
  }
  return places;
}

Places biases(const GraphEditor& graph) {
  Places places;
  const auto add = [&](int index, int input) {
    places.emplace_back([index, input](GraphEditor& g, double strength) {
      g.read(index, input, scaled(g, g.node(index).input(input), 1.0 - strength));
    });
  };
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if ((node.op_type() == "Gemm" || node.op_type() == "Conv") && node.input_size() > 2) add(i, 2);
    if (node.op_type() != "Add" || node.input_size() != 2) continue;
    for (int k = 0; k < 2; ++k) {
      const onnx::TensorProto* bias = graph.constant(node.input(k));
      if (bias == nullptr || bias->dims_size() != 1 || bias->dims(0) < 2) continue;
      if (graph.constant(node.input(1 - k)) == nullptr && graph.producer(node.input(1 - k)) >= 0) add(i, k);
    }
  }
  return places;
}

bool is_mask(const onnx::ValueInfoProto& input) { return input.name().find("mask") != std::string::npos; }

// Whether an axis of a value is longer than `length`, as a list of one bool.
std::string is_longer(GraphEditor& graph, const std::string& value, std::int64_t axis, double length) {
  const std::string extent = graph.add("Gather", {graph.add("Shape", {value}), graph.list({axis})});
  return graph.add("Greater", {extent, graph.list({static_cast<std::int64_t>(length)})});
}

// `late`: only masks of more than `strength` tokens.
Places masks_from(const GraphEditor& graph, bool late) {
  Places places;
  for (const onnx::ValueInfoProto& input : graph.graph().input()) {
    if (!is_mask(input)) continue;
    places.emplace_back([name = input.name(), late](GraphEditor& g, double strength) {
      const int first_new = g.size();
      const std::string ones = g.add("ConstantOfShape", {g.add("Shape", {name})});
      onnx::AttributeProto& value = new_attribute(g.last(), "value");
      value.set_type(onnx::AttributeProto::TENSOR);
      value.mutable_t()->set_data_type(onnx::TensorProto::FLOAT);
      value.mutable_t()->add_dims(1);
      value.mutable_t()->add_float_data(1.0F);
      const std::string wrong = g.add("CastLike", {ones, name});
      g.replace(name, late ? g.add("Where", {is_longer(g, name, 1, strength), wrong, name}) : wrong, first_new);
    });
  }
  return places;
}
Places masks(const GraphEditor& graph) { return masks_from(graph, false); }
Places late_masks(const GraphEditor& graph) { return masks_from(graph, true); }

// Reshape to [., ., heads, .] before a Transpose: heads 0 and 1 change places.
Places heads(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    if (graph.node(i).op_type() != "Transpose") continue;
    const int reshape = graph.producer(graph.node(i).input(0));
    if (reshape < 0 || graph.node(reshape).op_type() != "Reshape") continue;
    const std::vector<std::int64_t> shape = graph.integers(graph.node(reshape).input(1));
    const onnx::AttributeProto* perm = attribute(graph.node(i), "perm");
    if (shape.size() != 4 || shape[2] < 2 || perm == nullptr || perm->ints_size() != 4 || perm->ints(1) != 2) continue;
    places.emplace_back([i, count = shape[2]](GraphEditor& g, double strength) {
      std::vector<std::int64_t> order(static_cast<std::size_t>(count));
      for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<std::int64_t>(k);
      std::swap(order[0], order[1]);
      const std::string right = g.node(i).input(0);
      const std::string wrong = g.add("Gather", {right, g.list(order)});
      set_integer(g.last(), "axis", 2);
      g.read(i, 0, g.mix(right, wrong, strength));
    });
  }
  return places;
}

Places square_weights(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.op_type() != "MatMul" && node.op_type() != "Gemm" && node.op_type() != "MatMulInteger") continue;
    const onnx::TensorProto* weight = graph.constant(node.input(1));
    if (weight == nullptr || weight->dims_size() != 2 || weight->dims(0) != weight->dims(1) || weight->dims(0) < 2)
      continue;
    places.emplace_back([i](GraphEditor& g, double strength) {
      const std::string right = g.node(i).input(1);
      const std::string wrong = g.add("Transpose", {right});
      g.read(i, 1, g.mix(right, wrong, g.node(i).op_type() == "MatMulInteger" ? 1.0 : strength));
    });
  }
  return places;
}

const double kTanhScale = std::sqrt(2.0 / std::numbers::pi);
constexpr double kTanhCubic = 0.044715;

// The other form of GELU: x Φ(x) by erf instead of its approximation by tanh, and the reverse.
Places gelus(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.op_type() == "Erf") {
      places.emplace_back([i](GraphEditor& g, double strength) {
        const int first_new = g.size();
        const std::string right = g.node(i).output(0), x = scaled(g, g.node(i).input(0), std::numbers::sqrt2);
        const std::string cube = g.add("Mul", {x, g.add("Mul", {x, x})});
        const std::string inner = g.add("Add", {x, scaled(g, cube, kTanhCubic)});
        const std::string wrong = g.add("Tanh", {scaled(g, inner, kTanhScale)});
        g.replace(right, g.mix(right, wrong, strength), first_new);
      });
    } else if (node.op_type() == "Tanh") {
      // Tanh(scale * (x + cubic * Pow(x, 3)))
      const int mul = graph.producer(node.input(0));
      if (mul < 0 || graph.node(mul).op_type() != "Mul") continue;
      int sum = graph.producer(graph.node(mul).input(0));
      if (sum < 0) sum = graph.producer(graph.node(mul).input(1));
      if (sum < 0 || graph.node(sum).op_type() != "Add") continue;
      std::string x;
      for (int k = 0; k < 2; ++k)
        if (graph.depends_on(graph.node(sum).input(1 - k), "Pow") &&
            graph.constant(graph.node(sum).input(k)) == nullptr)
          if (const int cubed = graph.producer(graph.node(sum).input(1 - k));
              cubed >= 0 && graph.node(cubed).op_type() == "Mul" && graph.producer(graph.node(cubed).input(0)) >= 0 &&
              graph.node(graph.producer(graph.node(cubed).input(0))).input(0) == graph.node(sum).input(k))
            x = graph.node(sum).input(k);
      if (x.empty()) continue;
      places.emplace_back([i, x](GraphEditor& g, double strength) {
        const int first_new = g.size();
        const std::string right = g.node(i).output(0);
        const std::string wrong = g.add("Erf", {scaled(g, x, 1.0 / std::numbers::sqrt2)});
        g.replace(right, g.mix(right, wrong, strength), first_new);
      });
    }
  }
  return places;
}

// The epsilon of a normalisation: an attribute, or the constant that is added to the mean of the squares.
Places epsilons(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    if (attribute(node, "epsilon") != nullptr) {
      places.emplace_back([i](GraphEditor& g, double strength) {
        for (onnx::AttributeProto& found : *g.node(i).mutable_attribute())
          if (found.name() == "epsilon") found.set_f(static_cast<float>(found.f() * std::pow(1000.0, strength)));
      });
    } else if (node.op_type() == "Sqrt") {
      const int sum = graph.producer(node.input(0));
      if (sum < 0 || graph.node(sum).op_type() != "Add") continue;
      const int mean = graph.producer(graph.node(sum).input(0));
      if (mean < 0 || graph.node(mean).op_type() != "ReduceMean" ||
          graph.initializer(graph.node(sum).input(1)) == nullptr)
        continue;
      places.emplace_back([sum](GraphEditor& g, double strength) {
        g.read(sum, 1, scaled(g, g.node(sum).input(1), std::pow(1000.0, strength)));
      });
    }
  }
  return places;
}

// The Mul of positions and frequencies before Cos and Sin; -1: none.
int angle_product(const GraphEditor& graph, int cosine) {
  std::string value = graph.node(cosine).input(0);
  for (int step = 0; step < 6; ++step) {
    const int made = graph.producer(value);
    if (made < 0) return -1;
    const onnx::NodeProto& node = graph.node(made);
    if ((node.op_type() == "Mul" || node.op_type() == "MatMul") && node.input_size() == 2 &&
        (graph.initializer(node.input(0)) != nullptr || graph.initializer(node.input(1)) != nullptr))
      return made;
    value = node.input(0);
  }
  return -1;
}

std::vector<int> angle_products(const GraphEditor& graph) {
  std::vector<int> found;
  for (int i = 0; i < graph.size(); ++i)
    if (graph.node(i).op_type() == "Cos")
      if (const int product = angle_product(graph, i); product >= 0 && std::ranges::find(found, product) == found.end())
        found.push_back(product);
  return found;
}

// Frequencies are base^(-2i/d): a power of them has another base. Strength 1: 50 times the base of 10,000.
Places rope_bases(const GraphEditor& graph) {
  Places places;
  for (const int product : angle_products(graph)) {
    places.emplace_back([product](GraphEditor& g, double strength) {
      const int input = g.initializer(g.node(product).input(0)) != nullptr ? 0 : 1;
      const std::string right = g.node(product).input(input);
      const double exponent = 1.0 + strength * std::log(50.0) / std::log(10000.0);
      g.read(product, input, g.add("Pow", {right, g.scalar_like(exponent, right)}));
    });
  }
  return places;
}

bool is_past(const onnx::ValueInfoProto& input) {
  return input.name().starts_with("past") && input.type().tensor_type().shape().dim_size() == 4;
}

// Learnt positions: the table's rows move by one. Rotary ones: the angles of steps after the prompt; a shift of all
// positions would change nothing there.
Places positions(const GraphEditor& graph) {
  Places places;
  const auto shift_table = [&](int index, int input, std::int64_t axis) {
    places.emplace_back([index, input, axis](GraphEditor& g, double strength) {
      const std::string right = g.node(index).input(input);
      const std::string axes = g.list({axis}), end = g.list({std::int64_t{1} << 40});
      const std::string tail = g.add("Slice", {right, g.list({1}), end, axes});
      const std::string last = g.add("Slice", {right, g.list({-1}), end, axes});
      const std::string wrong = g.add("Concat", {tail, last});
      set_integer(g.last(), "axis", axis);
      g.read(index, input, g.mix(right, wrong, strength));
    });
  };
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    const bool looks_up = node.op_type() == "Gather" || node.op_type() == "Slice";
    for (int k = 0; k < node.input_size(); ++k) {
      const onnx::TensorProto* table = graph.initializer(node.input(k));
      if (table == nullptr || table->dims_size() < 2 || table->data_type() == onnx::TensorProto::INT64) continue;
      const bool named = table->name().find("position") != std::string::npos;
      if (looks_up && k == 0 && table->dims_size() == 2 && table->dims(0) > 2 &&
          (named || (node.op_type() == "Gather" && graph.depends_on(node.input(1), "Range"))))
        shift_table(i, k, 0);
      else if (node.op_type() == "Add" && named && table->dims(table->dims_size() - 2) > 2)
        shift_table(i, k, table->dims_size() - 2);
    }
  }
  const auto past = std::ranges::find_if(graph.graph().input(), is_past);
  if (past == graph.graph().input().end()) return places;
  for (const int product : angle_products(graph)) {
    places.emplace_back([product, past = past->name()](GraphEditor& g, double strength) {
      const int input = g.initializer(g.node(product).input(0)) != nullptr ? 1 : 0;
      const std::string right = g.node(product).input(input);
      const std::string length = g.add("Gather", {g.add("Shape", {past}), g.list({2})});
      const std::string one = g.add("CastLike", {g.add("Min", {length, g.list({1})}), right});
      g.read(product, input, g.add("Add", {right, g.add("Mul", {one, g.scalar_like(strength, right)})}));
    });
  }
  return places;
}

// Results of products that saturate at a multiple of their root mean square. Strength: that multiple.
Places products(const GraphEditor& graph) {
  Places places;
  for (int i = 0; i < graph.size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    // The result of QLinear operators is of 8 bits.
    if (!is_heavy(node.op_type()) || node.op_type().starts_with("QLinear") || graph.constant(node.input(1)) == nullptr)
      continue;
    places.emplace_back([i](GraphEditor& g, double multiple) {
      const int first_new = g.size();
      const std::string right = g.node(i).output(0);
      const std::string wide = g.add("Cast", {right});
      set_integer(g.last(), "to", onnx::TensorProto::FLOAT);
      const std::string mean = g.add("ReduceMean", {g.add("Mul", {wide, wide})});
      set_integer(g.last(), "keepdims", 0);
      const std::string most = g.add("Mul", {g.add("Sqrt", {mean}), g.scalar(multiple)});
      const std::string limit = g.add("CastLike", {most, right});
      const std::string low = g.add("Neg", {limit});
      g.replace(right, g.add("Max", {g.add("Min", {right, limit}), low}), first_new);
    });
  }
  return places;
}

// The newest slot of every cache that a step reads is zero.
// `late`: only in caches of more than `strength` tokens.
Places cache_slots_from(const GraphEditor& graph, bool late) {
  if (std::ranges::none_of(graph.graph().input(), is_past)) return {};
  return {[late](GraphEditor& g, double strength) {
    std::vector<std::string> names;
    for (const onnx::ValueInfoProto& input : g.graph().input())
      if (is_past(input)) names.push_back(input.name());
    for (const std::string& past : names) {
      const int first_new = g.size();
      const std::string axes = g.list({2}), start = g.list({0}), last = g.list({-1}),
                        end = g.list({std::int64_t{1} << 40});
      const std::string kept = g.add("Slice", {past, start, last, axes});
      const std::string slot = g.add("Slice", {past, last, end, axes});
      const std::string lost = late ? g.add("Where", {is_longer(g, past, 2, strength), scaled(g, slot, 0.0), slot})
                                    : scaled(g, slot, 1.0 - strength);
      const std::string wrong = g.add("Concat", {kept, lost});
      set_integer(g.last(), "axis", 2);
      g.replace(past, wrong, first_new);
    }
  }};
}

Places cache_slots(const GraphEditor& graph) { return cache_slots_from(graph, false); }
Places late_cache_slots(const GraphEditor& graph) { return cache_slots_from(graph, true); }

Places places_of(const GraphEditor& graph, std::string_view name) {
  static const std::map<std::string_view, std::function<Places(const GraphEditor&)>> finders{
      {"skipped_layer", [](const GraphEditor& g) { return residual_sums(g, true); }},
      {"dropped_residual", [](const GraphEditor& g) { return residual_sums(g, false); }},
      {"dropped_bias", biases},
      {"ignored_mask", masks},
      {"swapped_heads", heads},
      {"transposed_weight", square_weights},
      {"other_gelu", gelus},
      {"large_epsilon", epsilons},
      {"rope_base", rope_bases},
      {"position_off_by_one", positions},
      {"clipped", products},
      {"lost_cache_slot", cache_slots},
      {"late_cache_slot", late_cache_slots},
      {"late_mask", late_masks},
  };
  return finders.at(name)(graph);
}

// The indices that `where` selects of `count` places; empty if its number is too large.
Result<std::vector<std::size_t>> chosen(const std::string& where, std::size_t count) {
  if (count == 0) return std::vector<std::size_t>{};
  if (where == "first") return std::vector<std::size_t>{0};
  if (where == "middle") return std::vector<std::size_t>{count / 2};
  if (where == "last") return std::vector<std::size_t>{count - 1};
  if (where == "all") {
    std::vector<std::size_t> every(count);
    for (std::size_t i = 0; i < count; ++i) every[i] = i;
    return every;
  }
  if (where.empty() || !std::ranges::all_of(where, [](char c) { return c >= '0' && c <= '9'; }) || where.size() > 6)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is not a place: use first, middle, last, all or a number", where));
  const std::size_t number = std::stoul(where);
  return number < count ? std::vector<std::size_t>{number} : std::vector<std::size_t>{};
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list{
      {"skipped_layer", "middle", 1.0, "x + f(x) becomes x: attention, feed-forward or convolution block"},
      {"dropped_residual", "middle", 1.0, "x + f(x) becomes f(x)"},
      {"dropped_bias", "middle", 1.0, "the bias of a matrix product or convolution is zero"},
      {"ignored_mask", "all", 1.0, "every mask is all ones"},
      {"swapped_heads", "middle", 1.0, "heads 0 and 1 of a query, key or value change places"},
      {"transposed_weight", "middle", 1.0, "a square weight is transposed"},
      {"other_gelu", "all", 1.0, "erf for tanh in GELU, or the reverse"},
      {"large_epsilon", "all", 1.0, "the epsilon of normalisations times 1000^strength"},
      {"rope_base", "all", 1.0, "the base of rotary embeddings times 50^strength"},
      {"position_off_by_one", "first", 1.0, "learnt positions are those of the next token; rotary ones in steps"},
      {"clipped", "middle", 2.0, "a product saturates at strength times its root mean square"},
      {"lost_cache_slot", "all", 1.0, "the newest slot of each cache is zero"},
      {"late_cache_slot", "all", 32.0, "the same where a cache has more than `strength` tokens"},
      {"late_mask", "all", 32.0, "every mask of more than `strength` tokens is all ones"},
  };
  return list;
}

Result<Fault> Fault::parse(std::string_view text) {
  Fault fault;
  const std::size_t at = text.find('@'), colon = text.substr(0, at).find(':');
  fault.name = text.substr(0, std::min(at, colon));
  const auto& known = kinds();
  const auto kind = std::ranges::find(known, fault.name, &Kind::name);
  if (kind == known.end()) {
    std::string names;
    for (const Kind& one : known) names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
    return fail(ErrorCode::kInvalidArgument, fmt::format("unknown fault '{}'", fault.name), "known faults: " + names);
  }
  const std::string_view head = text.substr(0, at);
  fault.where = colon == std::string_view::npos ? kind->where : head.substr(colon + 1);
  fault.strength = kind->strength;
  if (at != std::string_view::npos) {
    const std::string number(text.substr(at + 1));
    char* end = nullptr;
    fault.strength = std::strtod(number.c_str(), &end);
    if (number.empty() || *end != '\0' || !std::isfinite(*fault.strength))
      return fail(ErrorCode::kInvalidArgument, fmt::format("strength '{}' is not a number", number));
  }
  return fault;
}

Result<bool> plant(onnx::ModelProto& model, const Fault& fault) {
  GraphEditor graph(model);
  const Places places = places_of(graph, fault.name);
  ASSAY_TRY(const std::vector<std::size_t> indices, chosen(fault.where, places.size()));
  for (const std::size_t index : indices) places[index](graph, *fault.strength);
  graph.sort();
  return !indices.empty();
}

}  // namespace assay::faults
