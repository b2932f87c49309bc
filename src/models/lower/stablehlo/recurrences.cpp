// SPDX-License-Identifier: Apache-2.0
// Recurrent layers: loops over the steps of a sequence.
#include <functional>
#include <optional>

#include "models/lower/recurrent_activations.hpp"
#include "models/lower/stablehlo/elementwise.hpp"

namespace assay::lowering::stablehlo {
namespace {

Hlo tanh_of(HloWriter& writer, const Hlo& x) { return writer.unary("stablehlo.tanh", x); }
Hlo sigmoid_of(HloWriter& writer, const Hlo& x) { return writer.unary("stablehlo.logistic", x); }

Hlo activated(HloWriter& writer, const RecurrentActivation& with, const Hlo& x) {
  const auto number = [&](double value) { return writer.splat_like(value, x); };
  const Hlo zero = number(0);
  if (with.name == "relu") return writer.maximum(x, zero);
  if (with.name == "tanh") return tanh_of(writer, x);
  if (with.name == "sigmoid") return sigmoid_of(writer, x);
  if (with.name == "affine") return writer.add(writer.multiply(x, number(with.alpha)), number(with.beta));
  if (with.name == "leakyrelu")
    return writer.select(writer.compare("GE", x, zero), x, writer.multiply(x, number(with.alpha)));
  if (with.name == "thresholdedrelu") return writer.select(writer.compare("GE", x, number(with.alpha)), x, zero);
  if (with.name == "scaledtanh")
    return writer.multiply(tanh_of(writer, writer.multiply(x, number(with.beta))), number(with.alpha));
  if (with.name == "hardsigmoid") {
    const Hlo line = writer.add(writer.multiply(x, number(with.alpha)), number(with.beta));
    return writer.minimum(writer.maximum(line, zero), number(1));
  }
  if (with.name == "elu") {
    const Hlo below = writer.unary("stablehlo.exponential_minus_one", writer.minimum(x, zero));
    return writer.select(writer.compare("GE", x, zero), x, writer.multiply(below, number(with.alpha)));
  }
  if (with.name == "softsign") return writer.divide(x, writer.add(writer.unary("stablehlo.abs", x), number(1)));
  const Hlo small =
      writer.unary("stablehlo.exponential", writer.unary("stablehlo.negate", writer.unary("stablehlo.abs", x)));
  return writer.add(writer.maximum(x, zero), writer.unary("stablehlo.log_plus_one", small));
}

/// The operands of one direction. Weights are [gates · hidden, …], biases [gates · hidden] or left out.
struct Direction {
  Hlo projected;  ///< X Wᵀ, [T, B, gates · hidden]
  Hlo recurrent;  ///< R
  std::optional<Hlo> input_bias, hidden_bias, peepholes;
  std::vector<RecurrentActivation> activations;
  double clip = 0;
  std::int64_t hidden = 0;
};

Hlo clipped_gate(HloWriter& writer, const Direction& with, const Hlo& x) {
  if (with.clip <= 0) return x;
  return writer.minimum(writer.maximum(x, writer.splat_like(-with.clip, x)), writer.splat_like(with.clip, x));
}

Hlo gate_of(HloWriter& writer, const Hlo& gates, std::int64_t index, std::int64_t hidden) {
  return writer.slice_axis(gates, gates.rank() - 1, index * hidden, (index + 1) * hidden);
}

Hlo with_row(HloWriter& writer, const Hlo& x, const std::optional<Hlo>& row) {
  return row ? writer.add(x, writer.broadcast(*row, x.shape)) : x;
}

// H Rᵀ
Hlo recurrent_product(HloWriter& writer, const Hlo& h, const Hlo& r) {
  return writer.dot(h, r, {.contract_a = {1}, .contract_b = {1}}, h.dtype);
}

/// From X Wᵀ of a step, [B, gates · hidden], and the state to the next state.
using CellStep =
    std::function<std::vector<Hlo>(HloWriter&, const Direction&, const Hlo& x, std::span<const Hlo> state)>;

std::vector<Hlo> plain_step(HloWriter& writer, const Direction& with, const Hlo& x, std::span<const Hlo> state) {
  Hlo sum = with_row(writer, writer.add(x, recurrent_product(writer, state[0], with.recurrent)), with.input_bias);
  sum = clipped_gate(writer, with, with_row(writer, sum, with.hidden_bias));
  return {activated(writer, with.activations[0], sum)};
}

// Gates: update, reset, hidden.
std::vector<Hlo> gated_step(HloWriter& writer, const Direction& with, const Hlo& x, std::span<const Hlo> state,
                            bool linear_before_reset) {
  const Hlo& h = state[0];
  const std::int64_t n = with.hidden;
  const Hlo from_x = with_row(writer, x, with.input_bias);
  const Hlo from_h = with_row(writer, recurrent_product(writer, h, with.recurrent), with.hidden_bias);
  const auto gate = [&](std::int64_t index) {
    const Hlo sum = writer.add(gate_of(writer, from_x, index, n), gate_of(writer, from_h, index, n));
    return activated(writer, with.activations[0], clipped_gate(writer, with, sum));
  };
  const Hlo update = gate(0), reset = gate(1);
  Hlo last = writer.multiply(reset, gate_of(writer, from_h, 2, n));
  if (!linear_before_reset) {
    last = recurrent_product(writer, writer.multiply(reset, h), writer.slice_axis(with.recurrent, 0, 2 * n, 3 * n));
    if (with.hidden_bias) last = with_row(writer, last, writer.slice_axis(*with.hidden_bias, 0, 2 * n, 3 * n));
  }
  const Hlo sum = clipped_gate(writer, with, writer.add(gate_of(writer, from_x, 2, n), last));
  const Hlo next = activated(writer, with.activations[1], sum);
  const Hlo rest = writer.subtract(writer.splat_like(1, update), update);
  return {writer.add(writer.multiply(rest, next), writer.multiply(update, h))};
}

// Gates: input, output, forget, cell.
std::vector<Hlo> memory_step(HloWriter& writer, const Direction& with, const Hlo& x, std::span<const Hlo> state,
                             bool coupled) {
  const std::int64_t n = with.hidden;
  Hlo gates = writer.add(x, recurrent_product(writer, state[0], with.recurrent));
  gates = with_row(writer, with_row(writer, gates, with.input_bias), with.hidden_bias);
  const auto gate = [&](std::int64_t index, std::int64_t peephole, const Hlo& cell) {
    Hlo sum = gate_of(writer, gates, index, n);
    if (with.peepholes && peephole >= 0)
      sum = writer.add(
          sum, writer.multiply(writer.broadcast(gate_of(writer, *with.peepholes, peephole, n), cell.shape), cell));
    return clipped_gate(writer, with, sum);
  };
  const Hlo in = activated(writer, with.activations[0], gate(0, 0, state[1]));
  const Hlo kept = coupled ? writer.subtract(writer.splat_like(1, in), in)
                           : activated(writer, with.activations[0], gate(2, 2, state[1]));
  const Hlo candidate = activated(writer, with.activations[1], gate(3, -1, state[1]));
  const Hlo cell = writer.add(writer.multiply(kept, state[1]), writer.multiply(in, candidate));
  const Hlo out = activated(writer, with.activations[0], gate(1, 1, cell));
  return {writer.multiply(out, activated(writer, with.activations[2], cell)), cell};
}

// Steps beyond a sequence's length change nothing, and their outputs are 0.
std::vector<Hlo> run_direction(HloWriter& writer, const Direction& with, std::vector<Hlo> state,
                               const std::optional<Hlo>& lengths, bool backwards, const CellStep& cell) {
  const std::int64_t steps = with.projected.extent(0), batch = with.projected.extent(1);
  state.insert(state.begin(), writer.splat(0, state[0].dtype, {steps, batch, with.hidden}));
  return writer.repeat(steps, state, [&](HloWriter& w, const Hlo& number, std::span<const Hlo> now) {
    const Hlo zero = w.splat(0, number.dtype);
    const Hlo place = backwards ? w.subtract(w.splat(static_cast<double>(steps - 1), number.dtype), number) : number;
    const Hlo starts[] = {place, zero, zero};
    const Hlo x = w.reshape(w.dynamic_slice(with.projected, starts, {1, batch, with.projected.extent(2)}),
                            {batch, with.projected.extent(2)});
    std::vector<Hlo> next = cell(w, with, x, now.subspan(1));
    Hlo shown = next[0];
    if (lengths) {
      const Hlo inside =
          w.broadcast_in_dim(w.compare("LT", w.broadcast(place, lengths->shape), *lengths), shown.shape, {0});
      shown = w.select(inside, shown, w.splat_like(0, shown));
      for (std::size_t i = 0; i < next.size(); ++i) next[i] = w.select(inside, next[i], now[i + 1]);
    }
    next.insert(next.begin(), w.dynamic_update_slice(now[0], w.reshape(shown, {1, batch, with.hidden}), starts));
    return next;
  });
}

/// What distinguishes the three layers.
struct Layer {
  std::int64_t gates = 1;
  std::size_t states = 1;
  CellStep cell;
};

// X, W, R, B, lengths, first states, peepholes → all steps, last states. With layout 1 the batch is the first axis.
Status recurrent_layer(HloWriter& writer, const graph::Node& node, const Layer& layer) {
  const bool batch_first = node.integer("layout", 0) != 0;
  ASSAY_TRY(const Hlo given, writer.input(node, 0));
  const Hlo x = batch_first ? writer.transpose(given, {1, 0, 2}) : given;
  ASSAY_TRY(const Hlo w, writer.input(node, 1));
  ASSAY_TRY(const Hlo r, writer.input(node, 2));
  const std::int64_t hidden = r.extent(2), batch = x.extent(1), directions = w.extent(0);
  const auto optional = [&](std::size_t index) -> Result<std::optional<Hlo>> {
    if (!has_input(node, index)) return std::nullopt;
    ASSAY_TRY(Hlo read, writer.input(node, index));
    return read;
  };
  ASSAY_TRY(const std::optional<Hlo> biases, optional(3));
  ASSAY_TRY(std::optional<Hlo> lengths, optional(4));
  if (lengths) lengths = writer.convert(*lengths, DType::kInt32);
  std::vector<std::optional<Hlo>> firsts(layer.states);
  for (std::size_t i = 0; i < layer.states; ++i) {
    ASSAY_TRY(firsts[i], optional(5 + i));
    if (firsts[i] && batch_first) firsts[i] = writer.transpose(*firsts[i], {1, 0, 2});
  }
  ASSAY_TRY(const std::optional<Hlo> peepholes, layer.states == 2 ? optional(7) : std::optional<Hlo>());
  ASSAY_TRY(const std::vector<RecurrentActivation> activations,
            recurrent_activations(node, static_cast<std::size_t>(directions)));
  const std::string_view stated = node.text("direction", "forward");
  std::vector<std::vector<Hlo>> results(layer.states + 1);
  for (std::int64_t d = 0; d < directions; ++d) {
    const auto of_direction = [&](const Hlo& all) {
      return writer.reshape(writer.slice_axis(all, 0, d, d + 1), Shape(all.shape.begin() + 1, all.shape.end()));
    };
    Direction with;
    with.hidden = hidden;
    with.clip = node.number("clip", 0);
    with.projected = writer.dot(x, of_direction(w), {.contract_a = {2}, .contract_b = {1}}, x.dtype);
    with.recurrent = of_direction(r);
    const std::int64_t width = layer.gates * hidden;
    if (biases) {
      const Hlo both = of_direction(*biases);
      with.input_bias = writer.slice_axis(both, 0, 0, width);
      with.hidden_bias = writer.slice_axis(both, 0, width, 2 * width);
    }
    if (peepholes) with.peepholes = of_direction(*peepholes);
    const auto each = static_cast<std::ptrdiff_t>(activations.size()) / directions;
    with.activations.assign(activations.begin() + d * each, activations.begin() + (d + 1) * each);
    std::vector<Hlo> state;
    for (const auto& first : firsts)
      state.push_back(first ? of_direction(*first) : writer.splat(0, x.dtype, {batch, hidden}));
    const std::vector<Hlo> last =
        run_direction(writer, with, state, lengths, stated == "reverse" || d == 1, layer.cell);
    for (std::size_t i = 0; i < last.size(); ++i) {
      Shape shape = last[i].shape;
      shape.insert(shape.end() - 2, 1);  // the axis of directions
      results[i].push_back(writer.reshape(last[i], shape));
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Hlo all = writer.concatenate(results[i], results[i][0].rank() - 3);
    const Axes order = i == 0 ? Axes{2, 0, 1, 3} : Axes{1, 0, 2};
    ASSAY_CHECK_OK(writer.output(node, i, batch_first ? writer.transpose(all, order) : all));
  }
  return {};
}

Status rnn(HloWriter& writer, const graph::Node& node) {
  return recurrent_layer(writer, node, {.gates = 1, .states = 1, .cell = plain_step});
}
Status gru(HloWriter& writer, const graph::Node& node) {
  const bool linear = node.integer("linear_before_reset", 0) != 0;
  const auto cell = [linear](HloWriter& w, const Direction& with, const Hlo& x, std::span<const Hlo> state) {
    return gated_step(w, with, x, state, linear);
  };
  return recurrent_layer(writer, node, {.gates = 3, .states = 1, .cell = cell});
}
Status lstm(HloWriter& writer, const graph::Node& node) {
  const bool coupled = node.integer("input_forget", 0) != 0;
  const auto cell = [coupled](HloWriter& w, const Direction& with, const Hlo& x, std::span<const Hlo> state) {
    return memory_step(w, with, x, state, coupled);
  };
  return recurrent_layer(writer, node, {.gates = 4, .states = 2, .cell = cell});
}

constexpr HloRow kRecurrences[] = {
    {{"", "GRU", 7, kNewestOpset, ""}, gru},
    {{"", "LSTM", 7, kNewestOpset, ""}, lstm},
    {{"", "RNN", 7, kNewestOpset, ""}, rnn},
};

}  // namespace

std::span<const HloRow> hlo_recurrences() { return kRecurrences; }

}  // namespace assay::lowering::stablehlo
