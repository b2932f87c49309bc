// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime's operators of attention. A key that a mask hides gets mask_filter_value, not −∞.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "models/evaluate/kernels/attention.hpp"
#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/kernels/microsoft.hpp"
#include "models/evaluate/kernels/product.hpp"

namespace assay::evaluate {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

// The mask of an operand: lengths [B], ends and begins [2 B], or ones and zeros [B, keys], [B, queries, keys],
// [B, 1, longest, longest].
Result<AddedBias> padding_bias(const Call& call, std::size_t place, const Shape& scores, std::int64_t past) {
  ASSAY_TRY(const auto mask, call.integers(place));
  const Shape& shape = call.shape(place);
  const std::int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  const double hidden = call.number("mask_filter_value", -10000);
  if (shape.size() == 1) {
    if (shape[0] != batch && shape[0] != 2 * batch) return call.unsupported("a mask " + to_string(shape));
    const bool has_begins = shape[0] == 2 * batch;
    return AddedBias([=](std::int64_t b, std::int64_t, std::int64_t, std::span<double> bias) {
      const std::int64_t end = mask[static_cast<std::size_t>(b)],
                         begin = has_begins ? mask[static_cast<std::size_t>(batch + b)] : 0;
      for (std::int64_t j = 0; j < keys; ++j)
        if (j < begin || j >= end) bias[static_cast<std::size_t>(j)] += hidden;
    });
  }
  const bool by_key = shape == Shape{batch, keys}, by_query = shape == Shape{batch, queries, keys};
  const bool square = shape.size() == 4 && shape[0] == batch && shape[1] == 1 && shape[2] == shape[3] &&
                      shape[2] >= keys && shape[2] >= past + queries;
  if (!by_key && !by_query && !square)
    return call.invalid("a mask " + to_string(shape) + " for scores " + to_string(scores));
  return AddedBias([=](std::int64_t b, std::int64_t, std::int64_t i, std::span<double> bias) {
    const std::int64_t first = by_key     ? b * keys
                               : by_query ? (b * queries + i) * keys
                                          : (b * shape[2] + past + i) * shape[3];
    for (std::int64_t j = 0; j < keys; ++j)
      if (mask[static_cast<std::size_t>(first + j)] == 0) bias[static_cast<std::size_t>(j)] += hidden;
  });
}

/// Places of the operands that change scores.
struct MaskPlaces {
  std::size_t padding, bias;
};

Result<AddedBias> score_bias(const Call& call, const MaskPlaces& places, const Shape& scores, std::int64_t past) {
  AddedBias padding, added;
  if (call.has(places.padding)) {
    ASSAY_TRY(padding, padding_bias(call, places.padding, scores, past));
  }
  if (call.has(places.bias)) {
    ASSAY_TRY(added, mask_bias(call, call.operand(places.bias), scores));
  }
  const bool causal = call.integer("unidirectional", 0) != 0;
  if (!padding && !added && !causal) return AddedBias();
  return AddedBias([=](std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> bias) {
    if (added) added(b, h, i, bias);
    if (padding) padding(b, h, i, bias);
    for (std::size_t j = 0; causal && j < bias.size(); ++j)
      if (static_cast<std::int64_t>(j) > past + i) bias[j] = kHidden;
  });
}

double scale_of(const Call& call, const Heads& q) {
  const double stated = call.number("scale", 0);
  return stated != 0 ? stated : 1 / std::sqrt(static_cast<double>(q.width));
}

// A cache [batch, heads, tokens, width] that fits new tokens.
Result<Heads> cache_of(const Call& call, std::size_t i, const Heads& now) {
  if (!call.has(i)) return Heads{now.batch, now.heads, 0, now.width, {}};
  ASSAY_TRY(const auto x, call.reals(i));
  const Shape& shape = call.shape(i);
  if (shape.size() != 4 || shape[0] != now.batch || shape[1] != now.heads || shape[3] != now.width)
    return call.invalid("a cache " + to_string(shape) + " that does not fit " + to_string(now.shape()));
  return Heads{shape[0], shape[1], shape[2], shape[3], Reals(x.begin(), x.end())};
}

// x, weights, bias, mask, past, bias of the scores.
Outputs packed_attention(const Call& call) {
  ASSAY_TRY(const std::int64_t heads, stated_heads(call, "num_heads"));
  if (call.integer("do_rotary", 0) != 0 || call.has(6))
    return call.unsupported("a rotary embedding or a shared cache inside of Attention");
  ASSAY_TRY(const Value product, matrix_product(call, call.operand(0), call.operand(1)));
  if (product.rank() != 3 || call.operand(1).rank() != 2) return call.invalid("its input or weights have another rank");
  const std::int64_t all = product.extent(2);
  Integers sizes{all / 3, all / 3, all / 3};
  if (const auto given = call.node().integers("qkv_hidden_sizes")) sizes.assign(given->begin(), given->end());
  const bool fits = std::ranges::all_of(sizes, [=](std::int64_t size) { return size >= 0 && size <= all; });
  if (sizes.size() != 3 || !fits || sizes[0] != sizes[1] || sizes[0] + sizes[1] + sizes[2] != all ||
      sizes[0] % heads != 0 || sizes[2] % heads != 0)
    return call.invalid("its heads or qkv_hidden_sizes do not fit the weights");
  Reals x(product.reals().begin(), product.reals().end());
  if (call.has(2)) {
    ASSAY_TRY(const auto bias, call.reals(2));
    if (static_cast<std::int64_t>(bias.size()) != all) return call.invalid("its bias does not fit the weights");
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += bias[i % bias.size()];
  }
  const std::int64_t batch = product.extent(0), tokens = product.extent(1);
  const Heads q = heads_from(x, batch, tokens, heads, sizes[0] / heads, all);
  Heads k = heads_from(x, batch, tokens, heads, sizes[1] / heads, all, sizes[0]);
  Heads v = heads_from(x, batch, tokens, heads, sizes[2] / heads, all, sizes[0] + sizes[1]);
  std::int64_t past = 0;
  if (call.has(4)) {
    ASSAY_TRY(const auto cache, call.reals(4));
    const Shape& shape = call.shape(4);
    if (shape.size() != 5 || k.width != v.width || shape != Shape{2, batch, heads, shape[3], k.width})
      return call.invalid("a cache " + to_string(shape) + " that does not fit");
    past = shape[3];
    const std::size_t half = cache.size() / 2;
    k = joined({batch, heads, past, k.width, Reals(cache.begin(), cache.begin() + static_cast<std::ptrdiff_t>(half))},
               k);
    v = joined({batch, heads, past, v.width, Reals(cache.begin() + static_cast<std::ptrdiff_t>(half), cache.end())}, v);
  }
  const Shape scores{batch, heads, tokens, k.tokens};
  AttentionRules rules{.scale = scale_of(call, q)};
  ASSAY_TRY(rules.bias, score_bias(call, {.padding = 3, .bias = 5}, scores, past));
  ASSAY_TRY(const Heads y, attend(call, q, k, v, rules));
  Values results{side_by_side(y, call.dtype(0))};
  if (k.width == v.width) {
    Reals present = k.x;
    present.insert(present.end(), v.x.begin(), v.x.end());
    results.push_back(Value(call.dtype(0), {2, batch, heads, k.tokens, k.width}, std::move(present)));
  }
  return results;
}

struct QueriesKeysValues {
  Heads q, k, v;
};

// Queries, keys and values of MultiHeadAttention: apart, keys and values together, all together, or keys and values
// with the heads in front already.
Result<QueriesKeysValues> multi_head_operands(const Call& call, std::int64_t heads) {
  ASSAY_TRY(const auto q, call.reals(0));
  const Shape& of_q = call.shape(0);
  const auto misfit = [&] { return call.invalid("its queries, keys and values do not fit together"); };
  QueriesKeysValues found;
  if (of_q.size() == 5) {  // [B, tokens, heads, 3, width]
    if (of_q[2] != heads || of_q[3] != 3 || call.has(1) || call.has(2)) return misfit();
    Heads* const parts[]{&found.q, &found.k, &found.v};
    for (std::int64_t part = 0; part < 3; ++part) {
      Heads& one = *parts[part] = {of_q[0], heads, of_q[1], of_q[4], Reals(q.size() / 3)};
      for (std::int64_t row = 0; row < of_q[0] * of_q[1] * heads; ++row)
        std::copy_n(q.data() + (row * 3 + part) * of_q[4], of_q[4],
                    one.row(row / heads / of_q[1], row % heads, row / heads % of_q[1]));
    }
    return found;
  }
  if (of_q.size() != 3 || of_q[2] % heads != 0 || !call.has(1)) return misfit();
  found.q = heads_from(q, of_q[0], of_q[1], heads, of_q[2] / heads, of_q[2]);
  ASSAY_TRY(const auto k, call.reals(1));
  const Shape& of_k = call.shape(1);
  if (of_k.size() == 5) {  // [B, keys, heads, 2, width]
    if (of_k[0] != of_q[0] || of_k[2] != heads || of_k[3] != 2 || of_k[4] != found.q.width) return misfit();
    for (std::int64_t part = 0; part < 2; ++part) {
      Heads& one = (part == 0 ? found.k : found.v) = {of_k[0], heads, of_k[1], of_k[4], Reals(k.size() / 2)};
      for (std::int64_t row = 0; row < of_k[0] * of_k[1] * heads; ++row)
        std::copy_n(k.data() + (row * 2 + part) * of_k[4], of_k[4],
                    one.row(row / heads / of_k[1], row % heads, row / heads % of_k[1]));
    }
    return found;
  }
  if (!call.has(2)) return misfit();
  ASSAY_TRY(const auto v, call.reals(2));
  const Shape& of_v = call.shape(2);
  if (of_k.size() != of_v.size()) return misfit();
  if (of_k.size() == 4) {
    found.k = {of_k[0], of_k[1], of_k[2], of_k[3], Reals(k.begin(), k.end())};
    found.v = {of_v[0], of_v[1], of_v[2], of_v[3], Reals(v.begin(), v.end())};
  } else if (of_k.size() == 3 && of_k[2] == of_q[2] && of_v[2] % heads == 0) {
    found.k = heads_from(k, of_k[0], of_k[1], heads, of_k[2] / heads, of_k[2]);
    found.v = heads_from(v, of_v[0], of_v[1], heads, of_v[2] / heads, of_v[2]);
  } else {
    return misfit();
  }
  if (found.k.batch != of_q[0] || found.v.batch != of_q[0] || found.k.heads != heads || found.v.heads != heads ||
      found.k.tokens != found.v.tokens || found.k.width != found.q.width)
    return misfit();
  return found;
}

void add_to_heads(Heads& heads, std::span<const double> bias) {
  for (std::int64_t b = 0; b < heads.batch; ++b)
    for (std::int64_t h = 0; h < heads.heads; ++h)
      for (std::int64_t t = 0; t < heads.tokens; ++t)
        for (std::int64_t i = 0; i < heads.width; ++i)
          heads.row(b, h, t)[i] += bias[static_cast<std::size_t>(h * heads.width + i)];
}

Outputs multi_head_attention(const Call& call) {
  ASSAY_TRY(const std::int64_t heads, stated_heads(call, "num_heads"));
  if (call.has(8) || call.has(9)) return call.unsupported("a shared cache");
  ASSAY_TRY(QueriesKeysValues x, multi_head_operands(call, heads));
  if (call.has(3)) {
    ASSAY_TRY(const auto bias, call.reals(3));
    const auto size = static_cast<std::size_t>(heads * x.q.width);
    if (bias.size() != 2 * size + static_cast<std::size_t>(heads * x.v.width))
      return call.invalid("its bias does not fit queries, keys and values");
    add_to_heads(x.q, bias.first(size));
    const bool made_before = call.has(1) && call.operand(1).rank() == 4;  // those have their bias
    if (!made_before) add_to_heads(x.k, bias.subspan(size, size));
    if (!made_before) add_to_heads(x.v, bias.subspan(2 * size));
  }
  ASSAY_TRY(const Heads past_k, cache_of(call, 6, x.k));
  ASSAY_TRY(const Heads past_v, cache_of(call, 7, x.v));
  if (past_k.tokens != past_v.tokens) return call.invalid("its caches have different lengths");
  const Heads k = joined(past_k, x.k), v = joined(past_v, x.v);
  const Shape scores{x.q.batch, heads, x.q.tokens, k.tokens};
  AttentionRules rules{.scale = scale_of(call, x.q)};
  ASSAY_TRY(rules.bias, score_bias(call, {.padding = 4, .bias = 5}, scores, past_k.tokens));
  ASSAY_TRY(const Heads y, attend(call, x.q, k, v, rules));
  Values results{side_by_side(y, call.dtype(0))};
  results.push_back(as_value(k, call.dtype(0)));
  results.push_back(as_value(v, call.dtype(0)));
  return results;
}

// Rotary embeddings: tables of cosines and sines, and the places of the tokens in them.
struct Rotary {
  std::span<const double> cosines{}, sines{};
  std::int64_t rows = 0, half = 0;
  Integers places{};  ///< [batch, tokens]
};

Result<Rotary> rotary_of(const Call& call, std::size_t table, Integers places) {
  if (!call.has(table) || !call.has(table + 1)) return call.invalid("the tables of its rotary embedding are missing");
  Rotary rotary{.places = std::move(places)};
  ASSAY_TRY(rotary.cosines, call.reals(table));
  ASSAY_TRY(rotary.sines, call.reals(table + 1));
  if (call.operand(table).rank() != 2 || call.shape(table) != call.shape(table + 1))
    return call.invalid("the tables of its rotary embedding have other shapes");
  rotary.rows = call.shape(table)[0];
  rotary.half = call.shape(table)[1];
  for (const std::int64_t place : rotary.places)
    if (place < 0 || place >= rotary.rows) return call.invalid("a place beyond the tables of its rotary embedding");
  return rotary;
}

void apply(const Rotary& rotary, Heads& x, bool interleaved) {
  apply_rotary(x, 2 * rotary.half, interleaved, [&](std::int64_t b, std::int64_t t) {
    const std::int64_t row = rotary.places[static_cast<std::size_t>(b * x.tokens + t)];
    return std::pair(rotary.cosines.data() + row * rotary.half, rotary.sines.data() + row * rotary.half);
  });
}

// position_ids: one number from which places go on, or one for each token.
Result<Integers> stated_places(const Call& call, std::size_t place, std::int64_t batch, std::int64_t tokens) {
  ASSAY_TRY(const auto given, call.integers(place));
  Integers places;
  if (given.size() == 1) {
    for (std::int64_t i = 0; i < batch * tokens; ++i) places.push_back(plus(given[0], i % tokens));
  } else {
    if (static_cast<std::int64_t>(given.size()) != batch * tokens)
      return call.invalid("position_ids do not fit the input");
    places.assign(given.begin(), given.end());
  }
  return places;
}

Outputs rotary_embedding_of_runtime(const Call& call) {
  if (call.integer("is_packed_batching", 0) != 0) return call.unsupported("packed batches");
  ASSAY_TRY(const auto x, call.reals(0));
  const Shape& shape = call.shape(0);
  if (shape.size() != 3 && shape.size() != 4) return call.invalid("its input has another rank");
  const std::int64_t tokens = shape[shape.size() - 2];
  Heads heads{shape[0], shape.size() == 4 ? shape[1] : call.integer("num_heads", 0), tokens, shape.back(), {}};
  ASSAY_TRY(Integers places, stated_places(call, 1, shape[0], tokens));
  ASSAY_TRY(const Rotary rotary, rotary_of(call, 2, std::move(places)));
  if (shape.size() == 4) {
    heads.x.assign(x.begin(), x.end());
  } else {
    if (heads.heads == 0) heads.heads = rotary.half == 0 ? 0 : shape[2] / (2 * rotary.half);
    if (heads.heads < 1 || heads.heads > shape[2] || shape[2] % heads.heads != 0)
      return call.invalid("the heads do not fit the input");
    heads = heads_from(x, shape[0], tokens, heads.heads, shape[2] / heads.heads, shape[2]);
  }
  if (2 * rotary.half > heads.width) return call.invalid("the tables of its rotary embedding are too wide");
  apply(rotary, heads, call.integer("interleaved", 0) != 0);
  return Values{shape.size() == 4 ? as_value(heads, call.dtype(0)) : side_by_side(heads, call.dtype(0))};
}

Result<QueriesKeysValues> grouped_operands(const Call& call, std::int64_t heads, std::int64_t shared) {
  ASSAY_TRY(const auto q, call.reals(0));
  const Shape& of_q = call.shape(0);
  if (of_q.size() != 3) return call.invalid("its queries have another rank than 3");
  QueriesKeysValues found;
  if (!call.has(1)) {
    const std::int64_t width = of_q[2] / (heads + 2 * shared);
    if (width * (heads + 2 * shared) != of_q[2]) return call.invalid("the heads do not fit its input");
    found.q = heads_from(q, of_q[0], of_q[1], heads, width, of_q[2]);
    found.k = heads_from(q, of_q[0], of_q[1], shared, width, of_q[2], heads * width);
    found.v = heads_from(q, of_q[0], of_q[1], shared, width, of_q[2], (heads + shared) * width);
    return found;
  }
  if (!call.has(2)) return call.invalid("keys without values");
  ASSAY_TRY(const auto k, call.reals(1));
  ASSAY_TRY(const auto v, call.reals(2));
  const Shape expected{of_q[0], of_q[1], of_q[2] / heads * shared};
  if (of_q[2] % heads != 0 || call.shape(1) != expected || call.shape(2) != expected)
    return call.invalid("its queries, keys and values do not fit together");
  found.q = heads_from(q, of_q[0], of_q[1], heads, of_q[2] / heads, of_q[2]);
  found.k = heads_from(k, of_q[0], of_q[1], shared, found.q.width, expected[2]);
  found.v = heads_from(v, of_q[0], of_q[1], shared, found.q.width, expected[2]);
  return found;
}

// The new tokens of each item behind those that its cache has: pasts[b] of them.
Heads cached(const Heads& past, const Heads& now, const Integers& pasts, std::int64_t total) {
  Heads all{now.batch, now.heads, std::max(past.tokens, total), now.width, {}};
  all.x.assign(static_cast<std::size_t>(all.count()), 0.0);
  for (std::int64_t b = 0; b < all.batch; ++b)
    for (std::int64_t h = 0; h < all.heads; ++h) {
      const std::int64_t before = pasts[static_cast<std::size_t>(b)], fits = std::min(now.tokens, all.tokens - before);
      if (before > 0) std::copy_n(past.row(b, h, 0), before * all.width, all.row(b, h, 0));
      if (fits > 0) std::copy_n(now.row(b, h, 0), fits * all.width, all.row(b, h, before));
    }
  return all;
}

// Q, K, V, the caches, seqlens_k (tokens of each item, minus 1), all tokens, tables, position_ids, bias, sinks.
Outputs group_query_attention(const Call& call) {
  ASSAY_TRY(const std::int64_t heads, stated_heads(call, "num_heads"));
  ASSAY_TRY(const std::int64_t shared, stated_heads(call, "kv_num_heads"));
  if (heads % shared != 0) return call.invalid("its numbers of heads do not fit together");
  if (!call.has(5) || !call.has(6)) return call.invalid("seqlens_k or total_sequence_length is missing");
  for (std::size_t i = 12; i < call.operand_count(); ++i)
    if (call.has(i)) return call.unsupported("a quantised cache");
  ASSAY_TRY(QueriesKeysValues x, grouped_operands(call, heads, shared));
  ASSAY_TRY(const auto lengths, call.integers(5));
  ASSAY_TRY(const std::int64_t total, call.integer_scalar(6));
  ASSAY_TRY(const Heads past_k, cache_of(call, 3, x.k));
  ASSAY_TRY(const Heads past_v, cache_of(call, 4, x.v));
  if (static_cast<std::int64_t>(lengths.size()) != x.q.batch || past_k.tokens != past_v.tokens || total < 0 ||
      total > std::int64_t{1} << 31)
    return call.invalid("its lengths do not fit the input");
  const bool first_prompt = total == x.q.tokens;
  Integers pasts, places;
  for (const std::int64_t one : lengths) {
    if (one < 0 || one >= std::max(total, past_k.tokens)) return call.invalid("its lengths do not fit the caches");
    pasts.push_back(first_prompt ? 0 : one + 1 - x.q.tokens);
    if (pasts.back() < 0 || pasts.back() > past_k.tokens) return call.invalid("its lengths do not fit the caches");
    for (std::int64_t t = 0; t < x.q.tokens; ++t) places.push_back(pasts.back() + t);
  }
  if (call.integer("do_rotary", 0) != 0) {
    if (call.has(9)) {
      ASSAY_TRY(places, stated_places(call, 9, x.q.batch, x.q.tokens));
    }
    ASSAY_TRY(const Rotary rotary, rotary_of(call, 7, std::move(places)));
    if (2 * rotary.half > x.q.width) return call.invalid("the tables of its rotary embedding are too wide");
    for (Heads* const one : {&x.q, &x.k}) apply(rotary, *one, call.integer("rotary_interleaved", 0) != 0);
  }
  for (const Heads& one : {x.k, x.v})
    ASSAY_CHECK_OK(call.elements_of({one.batch, one.heads, std::max(past_k.tokens, total), one.width}));
  const Heads k = cached(past_k, x.k, pasts, total), v = cached(past_v, x.v, pasts, total);
  AttentionRules rules{.scale = scale_of(call, x.q), .softcap = call.number("softcap", 0)};
  if (call.has(11)) {
    ASSAY_TRY(const auto sinks, call.reals(11));
    if (static_cast<std::int64_t>(sinks.size()) != heads) return call.invalid("head_sink does not fit the heads");
    rules.sinks.assign(sinks.begin(), sinks.end());
  } else if (call.integer("smooth_softmax", 0) == 1) {
    rules.sinks.assign(static_cast<std::size_t>(heads), 0.0);
  }
  AddedBias added;
  if (call.has(10)) {
    ASSAY_TRY(added, mask_bias(call, call.operand(10), {x.q.batch, heads, x.q.tokens, k.tokens}));
  }
  const std::int64_t window = call.integer("local_window_size", -1);
  rules.bias = [&](std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> bias) {
    if (added) added(b, h, i, bias);
    const std::int64_t last = pasts[static_cast<std::size_t>(b)] + i;
    for (std::int64_t j = 0; j < k.tokens; ++j)
      if (j > last || (window > 0 && last - j >= window)) bias[static_cast<std::size_t>(j)] = kHidden;
  };
  ASSAY_TRY(const Heads y, attend(call, x.q, k, v, rules));
  Values results{side_by_side(y, call.dtype(0))};
  results.push_back(as_value(k, call.dtype(0)));
  results.push_back(as_value(v, call.dtype(0)));
  return results;
}

}  // namespace

Operators microsoft_attention_operators() {
  return {{"Attention", &packed_attention, 2, kMicrosoft},
          {"GroupQueryAttention", &group_query_attention, 1, kMicrosoft},
          {"MultiHeadAttention", &multi_head_attention, 1, kMicrosoft},
          {"RotaryEmbedding", &rotary_embedding_of_runtime, 4, kMicrosoft}};
}

}  // namespace assay::evaluate
