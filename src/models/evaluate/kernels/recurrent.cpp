// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, in both directions. Gates as ONNX names them: of LSTM i, o, f, c; of GRU z, r, h.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/base/text.hpp"
#include "models/evaluate/kernels/activations.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

/// An activation, with the parameters of a node that does not state them. Source: ONNX's description of RNN. (Its
/// ThresholdedRelu has x where x ≥ alpha; that of the operator of this name has it where x > alpha.)
struct Activation {
  std::string_view lower_case_name;
  double (*apply)(double x, double alpha, double beta);
  double alpha = 0, beta = 0;
};

constexpr std::array kActivations{
    Activation{"affine", [](double x, double alpha, double beta) { return alpha * x + beta; }, 1, 0},
    Activation{"elu", [](double x, double alpha, double) { return x < 0 ? alpha * std::expm1(x) : x; }, 1},
    Activation{"hardsigmoid",
               [](double x, double alpha, double beta) { return std::clamp(alpha * x + beta, 0.0, 1.0); }, double{0.2F},
               0.5},
    Activation{"leakyrelu", [](double x, double alpha, double) { return x < 0 ? alpha * x : x; }, double{0.01F}},
    Activation{"relu", [](double x, double, double) { return std::max(x, 0.0); }},
    Activation{"scaledtanh", [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }, 1, 1},
    Activation{"sigmoid", [](double x, double, double) { return sigmoid(x); }},
    Activation{"softplus", [](double x, double, double) { return softplus(x); }},
    Activation{"softsign", [](double x, double, double) { return x / (1 + std::abs(x)); }},
    Activation{"tanh", [](double x, double, double) { return std::tanh(x); }},
    Activation{"thresholdedrelu", [](double x, double alpha, double) { return x >= alpha ? x : 0; }, 1}};

std::span<const float> floats_of(const graph::Node& node, std::string_view name) {
  const graph::Attribute* const attribute = node.attribute(name);
  const auto* given = attribute == nullptr ? nullptr : attribute->get<std::span<const float>>();
  return given == nullptr ? std::span<const float>() : *given;
}

// Those of the first direction first, `usual` for each that the node does not state.
Result<std::vector<Activation>> activations_of(const Call& call, std::span<const std::string_view> usual,
                                               std::size_t directions) {
  std::vector<std::string_view> names;
  if (const graph::Attribute* attribute = call.node().attribute("activations"); attribute != nullptr)
    if (const auto* given = attribute->get<std::vector<std::string_view>>()) names = *given;
  for (std::size_t i = names.size(); i < directions * usual.size(); ++i) names.push_back(usual[i % usual.size()]);
  const auto alphas = floats_of(call.node(), "activation_alpha"), betas = floats_of(call.node(), "activation_beta");
  std::vector<Activation> all;
  for (std::size_t i = 0; i < directions * usual.size(); ++i) {
    const auto known = std::ranges::find(kActivations, lower(names[i]), &Activation::lower_case_name);
    if (known == kActivations.end()) return call.invalid("the unknown activation " + shown(names[i]));
    all.push_back(*known);
    if (i < alphas.size()) all.back().alpha = double{alphas[i]};
    if (i < betas.size()) all.back().beta = double{betas[i]};
  }
  return all;
}

enum class Cell { kRnn, kGru, kLstm };

/// One node: its extents and what belongs to no direction.
struct Layer {
  Cell cell = Cell::kRnn;
  std::int64_t steps = 0, batch = 0, input = 0, hidden = 0, gates = 1, directions = 1;
  bool by_batch = false, linear_before_reset = false, couples_forget = false;
  double clip = 0;     ///< 0: none
  Integers lengths{};  ///< length of each sequence
};

/// What one direction works with. Spans are its own parts of the operands; `peepholes` may be empty.
struct Direction {
  bool backwards = false;
  std::span<const double> w, r, bias, peepholes;
  std::span<const Activation> activations;
  Reals hidden, cell;  ///< [batch, hidden]: the state
  Reals all;           ///< [steps, batch, hidden]
};

class Steps {
 public:
  Steps(const Layer& layer, Direction& direction, std::span<const double> x, int threads)
      : layer_(layer), own_(direction), threads_(threads), width_(layer.gates * layer.hidden) {
    from_x_.assign(static_cast<std::size_t>(layer.steps * layer.batch * width_), 0.0);
    add_product({x.data(), layer.input, 1}, {own_.w.data(), 1, layer.input}, from_x_.data(), layer.steps * layer.batch,
                layer.input, width_, threads);
    own_.all.assign(static_cast<std::size_t>(layer.steps * layer.batch * layer.hidden), 0.0);
  }

  void run() {
    for (std::int64_t i = 0; i < layer_.steps; ++i) step(own_.backwards ? layer_.steps - 1 - i : i);
  }

 private:
  void step(std::int64_t t) {
    from_h_.assign(static_cast<std::size_t>(layer_.batch * width_), 0.0);
    add_product({own_.hidden.data(), layer_.hidden, 1}, {own_.r.data(), 1, layer_.hidden}, from_h_.data(), layer_.batch,
                layer_.hidden, width_, threads_);
    for (std::int64_t b = 0; b < layer_.batch; ++b) {
      // Beyond the end of its sequence an item keeps its state, and its output is 0.
      if (t >= layer_.lengths[static_cast<std::size_t>(b)]) continue;
      x_ = from_x_.data() + (t * layer_.batch + b) * width_;
      h_ = from_h_.data() + b * width_;
      double* const hidden = own_.hidden.data() + b * layer_.hidden;
      if (layer_.cell == Cell::kRnn)
        for (std::int64_t j = 0; j < layer_.hidden; ++j) hidden[j] = act(0, sum(0, j));
      else if (layer_.cell == Cell::kGru)
        gru(hidden);
      else
        lstm(hidden, own_.cell.data() + b * layer_.hidden);
      std::copy_n(hidden, layer_.hidden, own_.all.data() + (t * layer_.batch + b) * layer_.hidden);
    }
  }

  [[nodiscard]] double bias(std::int64_t place) const {
    return own_.bias.empty() ? 0 : own_.bias[static_cast<std::size_t>(place)];
  }
  // The products with the input and with the state, both with their bias.
  [[nodiscard]] double of_x(std::int64_t gate, std::int64_t j) const {
    return x_[gate * layer_.hidden + j] + bias(gate * layer_.hidden + j);
  }
  [[nodiscard]] double of_h(std::int64_t gate, std::int64_t j) const {
    return h_[gate * layer_.hidden + j] + bias(width_ + gate * layer_.hidden + j);
  }
  [[nodiscard]] double sum(std::int64_t gate, std::int64_t j) const { return of_x(gate, j) + of_h(gate, j); }
  [[nodiscard]] double act(std::size_t which, double x) const {
    const Activation& with = own_.activations[which];
    return with.apply(layer_.clip > 0 ? std::clamp(x, -layer_.clip, layer_.clip) : x, with.alpha, with.beta);
  }

  void gru(double* hidden) const {
    const std::int64_t n = layer_.hidden;
    Reals update(static_cast<std::size_t>(n)), remembered(update.size()), next(update.size());
    for (std::int64_t j = 0; j < n; ++j) {
      update[static_cast<std::size_t>(j)] = act(0, sum(0, j));
      const double reset = act(0, sum(1, j));
      remembered[static_cast<std::size_t>(j)] = reset * (layer_.linear_before_reset ? of_h(2, j) : hidden[j]);
    }
    for (std::int64_t j = 0; j < n; ++j) {
      double from_state = remembered[static_cast<std::size_t>(j)];
      if (!layer_.linear_before_reset) {
        const double* const row = own_.r.data() + (2 * n + j) * n;
        from_state = bias(width_ + 2 * n + j);
        for (std::int64_t k = 0; k < n; ++k) from_state += row[k] * remembered[static_cast<std::size_t>(k)];
      }
      const double share = update[static_cast<std::size_t>(j)];
      next[static_cast<std::size_t>(j)] = (1 - share) * act(1, of_x(2, j) + from_state) + share * hidden[j];
    }
    std::ranges::copy(next, hidden);
  }

  void lstm(double* hidden, double* cell) const {
    const std::int64_t n = layer_.hidden;
    const auto hole = [&](std::int64_t which, std::int64_t j, double state) {
      return own_.peepholes.empty() ? 0 : own_.peepholes[static_cast<std::size_t>(which * n + j)] * state;
    };
    for (std::int64_t j = 0; j < n; ++j) {
      const double input = act(0, sum(0, j) + hole(0, j, cell[j]));
      const double forget = layer_.couples_forget ? 1 - input : act(0, sum(2, j) + hole(2, j, cell[j]));
      const double next = forget * cell[j] + input * act(1, sum(3, j));
      const double output = act(0, sum(1, j) + hole(1, j, next));
      cell[j] = next;
      hidden[j] = output * act(2, next);
    }
  }

  const Layer& layer_;
  Direction& own_;
  int threads_;
  std::int64_t width_;  // of all gates
  Reals from_x_, from_h_;
  const double *x_ = nullptr, *h_ = nullptr;  // all gates of one item
};

Result<Layer> layer_of(const Call& call) {
  Layer layer;
  const std::string_view name = call.node().op_type;
  layer.cell = name == "LSTM" ? Cell::kLstm : name == "GRU" ? Cell::kGru : Cell::kRnn;
  layer.gates = name == "LSTM" ? 4 : name == "GRU" ? 3 : 1;
  layer.by_batch = call.integer("layout", 0) != 0;
  layer.linear_before_reset = call.integer("linear_before_reset", 0) != 0;
  layer.couples_forget = call.integer("input_forget", 0) != 0;
  layer.clip = call.number("clip", 0);
  layer.directions = call.text("direction", "forward") == "bidirectional" ? 2 : 1;
  const Value &x = call.operand(0), &r = call.operand(2);
  if (x.rank() != 3 || r.rank() != 3) return call.invalid("its input or weights have another rank than 3");
  layer.steps = x.extent(layer.by_batch ? 1 : 0);
  layer.batch = x.extent(layer.by_batch ? 0 : 1);
  layer.input = x.extent(2);
  layer.hidden = r.extent(2);
  const std::int64_t width = layer.gates * layer.hidden;
  const Shape state = layer.by_batch ? Shape{layer.batch, layer.directions, layer.hidden}
                                     : Shape{layer.directions, layer.batch, layer.hidden};
  const Shape shapes[]{x.shape(),
                       {layer.directions, width, layer.input},
                       {layer.directions, width, layer.hidden},
                       {layer.directions, 2 * width},
                       {layer.batch},
                       state,
                       state,
                       {layer.directions, 3 * layer.hidden}};
  for (std::size_t i = 0; i < call.operand_count() && i < std::size(shapes); ++i)
    if (call.has(i) && call.shape(i) != shapes[i])
      return call.invalid("input " + std::to_string(i) + " has the shape " + to_string(call.shape(i)) + " instead of " +
                          to_string(shapes[i]));
  for (const Shape& one :
       {Shape{layer.steps, layer.batch, width}, Shape{layer.steps, layer.directions, layer.batch, layer.hidden}})
    ASSAY_CHECK_OK(call.elements_of(one));
  layer.lengths.assign(static_cast<std::size_t>(layer.batch), layer.steps);
  if (call.has(4)) {
    ASSAY_TRY(const auto given, call.integers(4));
    layer.lengths.assign(given.begin(), given.end());
  }
  return layer;
}

// Exchanges the first two axes.
Reals with_axes_exchanged(std::span<const double> x, std::int64_t first, std::int64_t second, std::int64_t inner) {
  Reals y(x.size());
  for (std::int64_t i = 0; i < first; ++i)
    for (std::int64_t j = 0; j < second; ++j)
      std::copy_n(x.data() + (i * second + j) * inner, inner, y.data() + (j * first + i) * inner);
  return y;
}

// Operand `i` as the directions have it, the first axis being theirs; empty if it was not given.
Result<Reals> by_direction(const Call& call, const Layer& layer, std::size_t i) {
  if (!call.has(i)) return Reals();
  ASSAY_TRY(const auto all, call.reals(i));
  if (layer.by_batch && (i == 5 || i == 6))
    return with_axes_exchanged(all, layer.batch, layer.directions, layer.hidden);
  return Reals(all.begin(), all.end());
}

// The states of all directions, in the order of the node's layout.
Value states_of(const Layer& layer, DType dtype, const std::vector<Direction>& directions, Reals Direction::*state) {
  Reals all;
  for (const Direction& one : directions) all.insert(all.end(), (one.*state).begin(), (one.*state).end());
  if (!layer.by_batch) return {dtype, {layer.directions, layer.batch, layer.hidden}, std::move(all)};
  return {dtype,
          {layer.batch, layer.directions, layer.hidden},
          with_axes_exchanged(all, layer.directions, layer.batch, layer.hidden)};
}

Value sequences_of(const Layer& layer, DType dtype, const std::vector<Direction>& directions) {
  Reals y(static_cast<std::size_t>(layer.steps * layer.directions * layer.batch * layer.hidden));
  double* to = y.data();
  const std::int64_t outer = layer.by_batch ? layer.batch : layer.steps,
                     middle = layer.by_batch ? layer.steps : layer.directions,
                     last = layer.by_batch ? layer.directions : layer.batch;
  for (std::int64_t i = 0; i < outer; ++i)
    for (std::int64_t j = 0; j < middle; ++j)
      for (std::int64_t k = 0; k < last; ++k) {
        const std::int64_t step = layer.by_batch ? j : i, which = layer.by_batch ? k : j, item = layer.by_batch ? i : k;
        const Reals& from = directions[static_cast<std::size_t>(which)].all;
        to = std::copy_n(from.data() + (step * layer.batch + item) * layer.hidden, layer.hidden, to);
      }
  return {dtype, {outer, middle, last, layer.hidden}, std::move(y)};
}

Outputs recurrent(const Call& call) {
  ASSAY_TRY(const Layer layer, layer_of(call));
  ASSAY_TRY(const auto given, call.reals(0));
  const Reals x = layer.by_batch ? with_axes_exchanged(given, layer.batch, layer.steps, layer.input)
                                 : Reals(given.begin(), given.end());
  constexpr std::array<std::string_view, 3> kLstm{"sigmoid", "tanh", "tanh"};
  constexpr std::array<std::string_view, 1> kRnn{"tanh"};
  const std::span<const std::string_view> of_lstm(kLstm);
  const auto usual = layer.cell == Cell::kLstm  ? of_lstm
                     : layer.cell == Cell::kGru ? of_lstm.first(2)
                                                : std::span<const std::string_view>(kRnn);
  ASSAY_TRY(const std::vector<Activation> activations,
            activations_of(call, usual, static_cast<std::size_t>(layer.directions)));
  std::vector<Reals> operands;
  for (const std::size_t i : {1U, 2U, 3U, 5U, 6U, 7U}) {
    ASSAY_TRY(Reals one, by_direction(call, layer, i));
    operands.push_back(std::move(one));
  }
  const auto part_of = [&](std::size_t which, std::int64_t direction) {
    const std::size_t size = operands[which].size() / static_cast<std::size_t>(layer.directions);
    return std::span<const double>(operands[which]).subspan(static_cast<std::size_t>(direction) * size, size);
  };
  std::vector<Direction> directions(static_cast<std::size_t>(layer.directions));
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    Direction& one = directions[static_cast<std::size_t>(d)];
    one.backwards = d == 1 || call.text("direction", "forward") == "reverse";
    one.w = part_of(0, d);
    one.r = part_of(1, d);
    one.bias = part_of(2, d);
    one.peepholes = layer.cell == Cell::kLstm ? part_of(5, d) : std::span<const double>();
    const std::size_t functions = activations.size() / directions.size();
    one.activations = std::span(activations).subspan(static_cast<std::size_t>(d) * functions, functions);
    for (const auto& [state, which] : {std::pair(&one.hidden, 3), std::pair(&one.cell, 4)}) {
      const auto initial = part_of(static_cast<std::size_t>(which), d);
      state->assign(initial.begin(), initial.end());
      if (state->empty()) state->assign(static_cast<std::size_t>(layer.batch * layer.hidden), 0.0);
    }
    Steps(layer, one, x, call.threads()).run();
  }
  const DType dtype = call.dtype(0);
  Values results{sequences_of(layer, dtype, directions), states_of(layer, dtype, directions, &Direction::hidden)};
  if (layer.cell == Cell::kLstm) results.push_back(states_of(layer, dtype, directions, &Direction::cell));
  return results;
}

}  // namespace

Operators recurrent_operators() { return {{"GRU", &recurrent, 3}, {"LSTM", &recurrent, 3}, {"RNN", &recurrent, 3}}; }

}  // namespace assay::evaluate
