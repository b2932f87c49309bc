// SPDX-License-Identifier: Apache-2.0
// ONNX's operators of attention and around it.
#include "models/evaluate/kernels/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "models/evaluate/kernels/activations.hpp"
#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/kernels/recurrences.hpp"

namespace assay::evaluate {
namespace {

constexpr double kNotSeen = -std::numeric_limits<double>::infinity();

// An operand [batch, tokens, heads · width] or [batch, heads, tokens, width].
Result<Heads> heads_of(const Call& call, std::size_t i, std::string_view attribute) {
  ASSAY_TRY(const auto x, call.reals(i));
  const Shape& shape = call.shape(i);
  if (shape.size() == 4) return Heads{shape[0], shape[1], shape[2], shape[3], Reals(x.begin(), x.end())};
  ASSAY_TRY(const std::int64_t heads, stated_heads(call, attribute));
  if (shape.size() != 3 || shape[2] % heads != 0)
    return call.invalid("input " + std::to_string(i) + " of shape " + to_string(shape) + " has no " +
                        std::to_string(heads) + " heads");
  return heads_from(x, shape[0], shape[1], heads, shape[2] / heads, shape[2]);
}

Result<Heads> with_past(const Call& call, std::size_t i, Heads now) {
  if (!call.has(i)) return now;
  ASSAY_TRY(const auto x, call.reals(i));
  const Shape& shape = call.shape(i);
  if (shape.size() != 4 || shape[0] != now.batch || shape[1] != now.heads || shape[3] != now.width)
    return call.invalid("a cache " + to_string(shape) + " that does not fit " + to_string(now.shape()));
  return joined({shape[0], shape[1], shape[2], shape[3], Reals(x.begin(), x.end())}, now);
}

// Which keys a query may see: not later ones, those within a window, those that are not padding.
Result<AddedBias> seen_keys(const Call& call, const Shape& scores) {
  const std::int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  const bool causal = call.integer("is_causal", 0) != 0;
  const std::int64_t left = call.integer("left_window_size", -1), right = call.integer("right_window_size", -1);
  Integers filled;
  if (call.has(6)) {
    ASSAY_TRY(const auto all, call.integers(6));
    if (static_cast<std::int64_t>(all.size()) != batch) return call.invalid("nonpad_kv_seqlen does not fit the batch");
    if (std::ranges::any_of(all, [=](std::int64_t length) { return length < 0 || length > keys; }))
      return call.invalid("nonpad_kv_seqlen is not a number of keys");
    filled.assign(all.begin(), all.end());
  }
  if (!causal && left < 0 && right < 0 && filled.empty()) return AddedBias();
  const bool has_past = call.has(4);
  const std::int64_t past = has_past ? call.shape(4)[2] : 0;
  return AddedBias([=](std::int64_t b, std::int64_t, std::int64_t i, std::span<double> bias) {
    const std::int64_t length = filled.empty() ? 0 : filled[static_cast<std::size_t>(b)];
    const std::int64_t place = i + (has_past || filled.empty() ? past : length - queries);
    for (std::size_t k = 0; k < bias.size(); ++k) {
      const auto key = static_cast<std::int64_t>(k);
      const std::int64_t distance = place - key;
      const bool seen = (filled.empty() || key < length) && (!causal || distance >= 0) &&
                        (left < 0 || distance <= left) && (right < 0 || -distance <= right);
      if (!seen) bias[k] = kNotSeen;
    }
  });
}

Outputs attention(const Call& call) {
  ASSAY_TRY(const Heads q, heads_of(call, 0, "q_num_heads"));
  ASSAY_TRY(Heads own_k, heads_of(call, 1, "kv_num_heads"));
  ASSAY_TRY(Heads own_v, heads_of(call, 2, "kv_num_heads"));
  if (call.has(4) != call.has(5)) return call.invalid("one cache without the other");
  ASSAY_TRY(const Heads k, with_past(call, 4, std::move(own_k)));
  ASSAY_TRY(const Heads v, with_past(call, 5, std::move(own_v)));
  if (q.batch != k.batch || q.batch != v.batch || k.heads != v.heads || k.tokens != v.tokens || q.width != k.width ||
      k.heads < 1 || q.heads % k.heads != 0)
    return call.invalid("queries " + to_string(q.shape()) + ", keys " + to_string(k.shape()) + " and values " +
                        to_string(v.shape()) + " do not fit together");
  AttentionRules rules{.scale = call.node().attribute("scale") != nullptr ? call.number("scale", 1)
                                                                          : 1 / std::sqrt(static_cast<double>(q.width)),
                       .softcap = call.number("softcap", 0)};
  const Shape scores{q.batch, q.heads, q.tokens, k.tokens};
  AddedBias mask;
  if (call.has(3)) {
    ASSAY_TRY(mask, mask_bias(call, call.operand(3), scores));
  }
  ASSAY_TRY(const AddedBias seen, seen_keys(call, scores));
  if (mask || seen)
    rules.bias = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> bias) {
      if (mask) mask(b, h, i, bias);
      if (seen) seen(b, h, i, bias);
    };
  const std::int64_t mode = call.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return call.invalid("an unknown qk_matmul_output_mode");
  Reals shown;
  AttentionStages stages{};
  if (call.wants(3)) stages[static_cast<std::size_t>(mode)] = &shown;
  ASSAY_TRY(const Heads y, attend(call, q, k, v, rules, stages));
  Values results{call.operand(0).rank() == 4 ? as_value(y, call.dtype(0)) : side_by_side(y, call.dtype(0))};
  results.push_back(as_value(k, call.dtype(1)));
  results.push_back(as_value(v, call.dtype(2)));
  if (call.wants(3)) results.emplace_back(call.dtype(0), scores, std::move(shown));
  return results;
}

Outputs rotary_embedding(const Call& call) {
  ASSAY_TRY(Heads x, heads_of(call, 0, "num_heads"));
  ASSAY_TRY(const auto cosines, call.reals(1));
  ASSAY_TRY(const auto sines, call.reals(2));
  std::int64_t width = call.integer("rotary_embedding_dim", 0);
  if (width == 0) width = x.width;
  const std::int64_t half = width / 2;
  if (width < 0 || width > x.width || width % 2 != 0 || call.shape(1) != call.shape(2))
    return call.invalid("rotary_embedding_dim or the tables do not fit the input");
  Integers places;
  if (call.has(3)) {
    ASSAY_TRY(const auto given, call.integers(3));
    if (call.operand(1).rank() != 2 || call.shape(1)[1] != half || call.shape(3) != Shape{x.batch, x.tokens})
      return call.invalid("its tables or places do not fit the input");
    for (const std::int64_t place : given)
      if (place < 0 || place >= call.shape(1)[0]) return call.invalid("a place beyond the tables");
    places.assign(given.begin(), given.end());
  } else if (call.shape(1) != Shape{x.batch, x.tokens, half}) {
    return call.invalid("its tables " + to_string(call.shape(1)) + " do not fit the input");
  }
  apply_rotary(x, width, call.integer("interleaved", 0) != 0, [&](std::int64_t b, std::int64_t t) {
    const std::int64_t token = b * x.tokens + t, row = places.empty() ? token : places[static_cast<std::size_t>(token)];
    return std::pair(cosines.data() + row * half, sines.data() + row * half);
  });
  return Values{call.operand(0).rank() == 4 ? as_value(x, call.dtype(0)) : side_by_side(x, call.dtype(0))};
}

Outputs swish_gate(const Call& call) {
  ASSAY_TRY(const auto a, call.reals(0));
  ASSAY_TRY(const auto b, call.reals(1));
  if (call.shape(0) != call.shape(1)) return call.invalid("its operands have different shapes");
  const double alpha = call.number("alpha", 1);
  Reals y(a.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = a[i] * sigmoid(alpha * a[i]) * b[i];
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

// Each head of keys and values as often as queries share it.
Result<Value> heads_repeated(const Call& call, const Value& x, std::int64_t times) {
  const Shape& shape = x.shape();
  const Shape apart{shape[0], shape[1], 1, shape[2], shape[3]}, to{shape[0], shape[1], times, shape[2], shape[3]};
  ASSAY_CHECK_OK(call.elements_of(to));
  return repeated(x.with_shape(apart), to).with_shape({shape[0], shape[1] * times, shape[2], shape[3]});
}

// What the node's own graph makes of scores or shares.
Result<Value> changed(const Call& call, std::string_view attribute, Value scores) {
  const auto* found = call.node().attribute(attribute);
  const auto* graph = found == nullptr ? nullptr : found->get<std::shared_ptr<const graph::Graph>>();
  if (graph == nullptr || *graph == nullptr) return scores;
  const Shape shape = scores.shape();
  Values given;
  given.push_back(std::move(scores));
  if ((*graph)->inputs.size() != 1 || (*graph)->outputs.size() != 1)
    return call.invalid("a graph of more than one input or output");
  ASSAY_TRY(Values results, call.run_graph()(**graph, std::move(given)));
  if (!results[0].is_real() || results[0].shape() != shape)
    return call.invalid("a graph that changes the shape or kind of the scores");
  return results[0];
}

Outputs flex_attention(const Call& call) {
  for (std::size_t i = 0; i < 3; ++i)
    if (call.operand(i).rank() != 4 || !call.operand(i).is_real())
      return call.invalid("its operands have another rank or type");
  const Shape &q = call.shape(0), &k = call.shape(1);
  if (k[1] < 1 || q[1] % k[1] != 0 || call.shape(2)[1] != k[1]) return call.invalid("the heads do not fit together");
  const double scale =
      call.node().attribute("scale") != nullptr ? call.number("scale", 1) : 1 / std::sqrt(static_cast<double>(q[3]));
  ASSAY_TRY(const Value keys_of_all, heads_repeated(call, call.operand(1), q[1] / k[1]));
  ASSAY_TRY(const Value values_of_all, heads_repeated(call, call.operand(2), q[1] / k[1]));
  ASSAY_TRY(const Value raw, matrix_product(call, call.operand(0), keys_of_all, false, true));
  const DType own = bit_width(call.dtype(0)) < 32 ? DType::kFloat32 : call.dtype(0);
  const auto precision = static_cast<DType>(call.integer("softmax_precision", static_cast<std::int64_t>(own)));
  if (!is_real_type(precision)) return call.invalid("softmax_precision is not a floating type");
  Reals all(raw.reals().begin(), raw.reals().end());
  for (double& x : all) x *= scale;
  ASSAY_TRY(const Value scores, changed(call, "score_mod", Value(precision, raw.shape(), std::move(all))));
  Reals shares(scores.reals().begin(), scores.reals().end());
  const auto keys = static_cast<std::size_t>(scores.shape().back());
  for (std::size_t first = 0; keys > 0 && first < shares.size(); first += keys)
    softmax(std::span(shares).subspan(first), 1, keys);
  ASSAY_TRY(const Value weights, changed(call, "prob_mod", Value(precision, scores.shape(), std::move(shares))));
  ASSAY_TRY(const Value y, matrix_product(call, weights, values_of_all));
  return Values{Value(call.dtype(2), y.shape(), Reals(y.reals().begin(), y.reals().end()))};
}

}  // namespace

Operators attention_operators() {
  return {{"Attention", &attention, 3},
          {"CausalConvWithState", &causal_convolution, 2},
          {"FlexAttention", &flex_attention, 3, "ai.onnx.preview"},
          {"LinearAttention", &linear_attention, 3},
          {"RotaryEmbedding", &rotary_embedding, 3},
          {"SwiGLU", &swish_gate, 2}};
}

}  // namespace assay::evaluate
