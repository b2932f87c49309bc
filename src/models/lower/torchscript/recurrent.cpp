// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM: a loop over the steps of the sequence, for each direction.
#include "models/lower/recurrent_activations.hpp"

#include <fmt/format.h>

#include "models/lower/torchscript/groups.hpp"

namespace assay::lowering {
namespace torchscript::recurrent {
namespace {

using graph::Node;

// The functions of the gates of one direction.
using Activations = std::vector<RecurrentActivation>;

struct Layer {
  const Node& node;
  std::int64_t gates = 1;  ///< blocks of the weights
  std::int64_t hidden = 0, steps = 0, batch = 0;
  bool by_batch = false;       ///< the batch comes before the steps
  std::string x{}, lengths{};  ///< [steps, batch, input]; [batch, 1], or ""
};

std::string activated(const RecurrentActivation& with, const std::string& x) {
  const std::string alpha = torch_number(with.alpha), beta = torch_number(with.beta);
  if (with.name == "softsign") return torch_call("div", x, torch_call("add", torch_call("abs", x), 1));
  if (with.name == "affine") return torch_call("add", torch_call("mul", x, alpha), beta);
  if (with.name == "leakyrelu") return torch_call("leaky_relu", x, alpha);
  if (with.name == "thresholdedrelu") return torch_call("where", torch_call("ge", x, alpha), x, "0.0");
  if (with.name == "elu") return torch_call("elu", x, alpha);
  if (with.name == "scaledtanh") return torch_call("mul", torch_call("tanh", torch_call("mul", x, beta)), alpha);
  if (with.name == "hardsigmoid")
    return torch_call("clamp", torch_call("add", torch_call("mul", x, alpha), beta), "0.0", "1.0");
  return torch_call(with.name, x);  // sigmoid, tanh, relu, softplus
}

// One direction of a layer: writes its loop.
class Direction {
 public:
  Direction(TorchWriter& writer, const Layer& layer, std::int64_t number, bool backwards, Activations activations)
      : writer_(writer),
        layer_(layer),
        number_(number),
        backwards_(backwards),
        activations_(std::move(activations)),
        w_(part(1)),
        r_(part(2)) {
    if (has_input(layer_.node, 3)) {
      const std::string both = part(3);
      const std::int64_t size = layer_.gates * layer_.hidden;
      w_bias_ = writer_.let(torch_call("narrow", both, 0, 0, size));
      r_bias_ = writer_.let(torch_call("narrow", both, 0, size, size));
    }
  }

  struct Results {
    std::string all, hidden, cell;  ///< [steps, batch, hidden], then twice [batch, hidden]
  };

  Results write() {
    const bool has_cell = layer_.node.op_type == "LSTM";
    const std::string hidden = initial(5), cell = has_cell ? initial(6) : "";
    const std::string list = writer_.let("[]");
    const std::string last = fmt::format("{} - 1 - step", layer_.steps);
    writer_.line(fmt::format("for step in range({}):", layer_.steps));
    const std::string place = inner(backwards_ ? last : "step");
    const std::string x = inner(torch_call("select", layer_.x, 0, place));
    const Step next = layer_.node.op_type == "LSTM"  ? lstm(x, hidden, cell)
                      : layer_.node.op_type == "GRU" ? gru(x, hidden)
                                                     : rnn(x, hidden);
    if (layer_.lengths.empty()) {
      set(hidden, next.hidden);
      if (has_cell) set(cell, next.cell);
      writer_.line(fmt::format("    {}.append({})", list, hidden));
    } else {  // shorter sequences of the batch keep their state, and their output is 0
      const std::string within = inner(torch_call("lt", place, layer_.lengths));
      const std::string made = inner(next.hidden);
      set(hidden, torch_call("where", within, made, hidden));
      if (has_cell) set(cell, torch_call("where", within, next.cell, cell));
      writer_.line(fmt::format("    {}.append({})", list, torch_call("where", within, made, "0.0")));
    }
    const std::string all = writer_.let(torch_call("stack", list, 0));
    return Results{backwards_ ? writer_.let(torch_call("flip", all, "[0]")) : all, hidden, cell};
  }

 private:
  struct Step {
    std::string hidden, cell{};
  };

  // This direction's part of input i.
  std::string part(std::size_t i) { return writer_.let(torch_call("select", writer_.in(layer_.node, i), 0, number_)); }
  // A name inside the loop. A tensor is new in each step.
  std::string inner(const std::string& expression) { return writer_.let(expression, 1); }
  void set(const std::string& variable, const std::string& expression) {
    writer_.line(fmt::format("    {} = {}", variable, expression));
  }

  std::string initial(std::size_t i) {
    if (!has_input(layer_.node, i))
      return writer_.let(torch_call("zeros", torch_list(Shape{layer_.batch, layer_.hidden}),
                                    fmt::format("dtype={}", *torch_type(writer_.dtype(layer_.node, 0)))));
    return writer_.let(torch_call("select", writer_.in(layer_.node, i), layer_.by_batch ? 1 : 0, number_));
  }

  // Block `gate` of a tensor whose last axis has all gates.
  [[nodiscard]] std::string gate(const std::string& all, std::int64_t gate) const {
    return torch_call("narrow", all, -1, gate * layer_.hidden, layer_.hidden);
  }
  [[nodiscard]] std::string rows(const std::string& all, std::int64_t first, std::int64_t count) const {
    return torch_call("narrow", all, 0, first * layer_.hidden, count * layer_.hidden);
  }
  [[nodiscard]] std::string affine(const std::string& x, const std::string& weights, const std::string& bias) const {
    return bias.empty() ? torch_call("linear", x, weights) : torch_call("linear", x, weights, bias);
  }

  std::string act(std::size_t function, std::string x) {
    if (const float limit = layer_.node.number("clip", 0.0F); limit > 0)
      x = torch_call("clamp", x, torch_number(-double{limit}), torch_number(double{limit}));
    return inner(activated(activations_[function], x));
  }

  Step rnn(const std::string& x, const std::string& hidden) {
    return Step{act(0, torch_call("add", affine(x, w_, w_bias_), affine(hidden, r_, r_bias_)))};
  }

  // Gates: update, reset, hidden.
  Step gru(const std::string& x, const std::string& hidden) {
    const std::string from_x = inner(affine(x, w_, w_bias_));
    const auto r_bias = [&](std::int64_t first, std::int64_t count) {
      return r_bias_.empty() ? "" : rows(r_bias_, first, count);
    };
    const std::string from_h = inner(affine(hidden, rows(r_, 0, 2), r_bias(0, 2)));
    const std::string update = act(0, torch_call("add", gate(from_x, 0), gate(from_h, 0)));
    const std::string reset = act(0, torch_call("add", gate(from_x, 1), gate(from_h, 1)));
    const bool linear_first = layer_.node.integer("linear_before_reset", 0) != 0;
    const std::string turned = linear_first ? torch_call("mul", reset, affine(hidden, rows(r_, 2, 1), r_bias(2, 1)))
                                            : affine(torch_call("mul", reset, hidden), rows(r_, 2, 1), r_bias(2, 1));
    const std::string candidate = act(1, torch_call("add", gate(from_x, 2), turned));
    return Step{torch_call("add", torch_call("mul", torch_call("rsub", update, 1), candidate),
                           torch_call("mul", update, hidden))};
  }

  // Gates: input, output, forget, cell.
  Step lstm(const std::string& x, const std::string& hidden, const std::string& cell) {
    const std::string gates = inner(torch_call("add", affine(x, w_, w_bias_), affine(hidden, r_, r_bias_)));
    const std::string holes = has_input(layer_.node, 7) ? part_of_peepholes() : "";
    const auto peeped = [&](std::int64_t which, std::int64_t hole, const std::string& state) {
      if (holes.empty()) return gate(gates, which);
      return torch_call("add", gate(gates, which), torch_call("mul", rows(holes, hole, 1), state));
    };
    const std::string input = act(0, peeped(0, 0, cell));
    std::string forget;
    if (layer_.node.integer("input_forget", 0) != 0) {
      forget = torch_call("rsub", input, 1);
    } else {
      forget = act(0, peeped(2, 2, cell));
    }
    const std::string candidate = act(1, gate(gates, 3));
    const std::string next =
        inner(torch_call("add", torch_call("mul", forget, cell), torch_call("mul", input, candidate)));
    const std::string output = act(0, peeped(1, 1, next));
    return Step{torch_call("mul", output, activated(activations_[2], next)), next};
  }
  std::string part_of_peepholes() { return inner(torch_call("select", writer_.in(layer_.node, 7), 0, number_)); }

  TorchWriter& writer_;
  const Layer& layer_;
  std::int64_t number_;
  bool backwards_;
  Activations activations_;
  std::string w_, r_, w_bias_, r_bias_;
};

Status recurrent(TorchWriter& writer, const Node& node) {
  const std::int64_t gates = node.op_type == "LSTM" ? 4 : node.op_type == "GRU" ? 3 : 1;
  Layer layer{.node = node, .gates = gates};
  layer.hidden = writer.shape(node, 2).back();
  layer.by_batch = node.integer("layout", 0) != 0;
  const Shape& given = writer.shape(node, 0);
  layer.steps = given[layer.by_batch ? 1 : 0];
  layer.batch = given[layer.by_batch ? 0 : 1];
  if (layer.steps == 0) return refuse(node, "a sequence without steps");
  layer.x = writer.let(layer.by_batch ? torch_call("transpose", writer.in(node, 0), 0, 1) : writer.in(node, 0));
  if (has_input(node, 4))
    layer.lengths =
        writer.let(torch_call("unsqueeze", torch_call("to", writer.in(node, 4), *torch_type(DType::kInt64)), 1));
  const std::string_view direction = node.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  ASSAY_TRY(const Activations activations, recurrent_activations(node, static_cast<std::size_t>(directions)));
  const auto count = static_cast<std::ptrdiff_t>(activations.size()) / directions;
  std::vector<std::string> all, hidden, cells;
  for (std::int64_t i = 0; i < directions; ++i) {
    Direction one(writer, layer, i, direction == "reverse" || i == 1,
                  {activations.begin() + i * count, activations.begin() + (i + 1) * count});
    const Direction::Results results = one.write();
    all.push_back(results.all);
    hidden.push_back(results.hidden);
    cells.push_back(results.cell);
  }
  const auto give = [&](std::size_t i, const std::vector<std::string>& parts, std::int64_t axis, const char* order) {
    if (node.outputs.size() <= i || node.outputs[i].empty()) return;
    const std::string made = torch_call("stack", torch_list(parts), axis);
    writer.out(node, i, layer.by_batch ? torch_call("permute", made, order) : made);
  };
  give(0, all, 1, "[2, 0, 1, 3]");
  give(1, hidden, 0, "[1, 0, 2]");
  if (node.op_type == "LSTM") give(2, cells, 0, "[1, 0, 2]");
  return {};
}

}  // namespace
}  // namespace torchscript::recurrent

TorchOperators torch_recurrent() {
  using namespace torchscript::recurrent;
  return {since(7, "GRU", recurrent), since(7, "LSTM", recurrent), since(7, "RNN", recurrent)};
}

}  // namespace assay::lowering
