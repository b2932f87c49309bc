// SPDX-License-Identifier: Apache-2.0
// Attention and the operators around it: rotary embeddings, linear attention, causal convolution, caches.
#include <fmt/format.h>

#include <map>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

// [B, S, heads · size] or [B, heads, S, size].
struct Heads {
  std::int64_t batch = 0, heads = 0, length = 0, size = 0;
};

Result<Heads> heads_of(const Site& site, std::size_t input, const char* attribute) {
  const Shape& shape = site.shape(input);
  if (shape.size() == 4) return Heads{shape[0], shape[1], shape[2], shape[3]};
  const std::int64_t heads = site.integer(attribute, 0);
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0)
    return site.contradiction(fmt::format("{} in {} heads", to_string(shape), heads));
  return Heads{shape[0], heads, shape[1], shape[2] / heads};
}

// Q, K, V, mask, past keys, past values → Y, keys, values, products.
Status attention(Site& site) {
  ASSAY_TRY(const Heads q, heads_of(site, 0, "q_num_heads"));
  ASSAY_TRY(const Heads k, heads_of(site, 1, "kv_num_heads"));
  ASSAY_TRY(const Heads v, heads_of(site, 2, "kv_num_heads"));
  if (q.batch != k.batch || k.batch != v.batch || q.size != k.size || k.heads != v.heads || k.length != v.length ||
      k.heads < 1 || q.heads % k.heads != 0)
    return site.contradiction(fmt::format("{}, {} and {} do not fit together", to_string(site.shape(0)),
                                          to_string(site.shape(1)), to_string(site.shape(2))));
  std::int64_t all = k.length;
  for (const std::size_t past : {4U, 5U})
    if (site.has(past) && site.rank(past) != 4) return site.contradiction("past keys or values of another rank");
  if (site.has(4) != site.has(5) || (site.has(4) && site.shape(4)[2] != site.shape(5)[2]))
    return site.contradiction("past keys and values of different lengths");
  if (site.has(4)) all = plus(all, site.shape(4)[2]);
  const DType dtype = site.in(0).dtype;
  if (site.rank(0) == 4)
    site.give(0, dtype, {q.batch, q.heads, q.length, v.size});
  else
    site.give(0, dtype, {q.batch, q.length, times(q.heads, v.size)});
  site.give(1, site.in(1).dtype, {k.batch, k.heads, all, k.size});
  site.give(2, site.in(2).dtype, {v.batch, v.heads, all, v.size});
  site.give(3, dtype, {q.batch, q.heads, q.length, all});
  return {};
}

// query, key, value, past state → output, state; the heads are packed into the last axis.
Status linear_attention(Site& site) {
  if (site.rank(0) != 3 || site.rank(1) != 3 || site.rank(2) != 3)
    return site.contradiction("operands of another rank");
  ASSAY_TRY(const Heads q, heads_of(site, 0, "q_num_heads"));
  ASSAY_TRY(const Heads k, heads_of(site, 1, "kv_num_heads"));
  ASSAY_TRY(const Heads v, heads_of(site, 2, "kv_num_heads"));
  if (q.size != k.size || k.length != v.length || q.length != k.length || k.heads != v.heads || q.heads % k.heads != 0)
    return site.contradiction("operands that do not fit together");
  site.give(0, site.in(0).dtype, {q.batch, q.length, times(q.heads, v.size)});
  site.give(1, site.has(3) ? site.in(3).dtype : site.in(0).dtype, {k.batch, k.heads, k.size, v.size});
  return {};
}

// input [N, C, L], weight [C, 1, k] → output, state.
Status causal_convolution(Site& site) {
  const Shape& in = site.shape(0);
  const Shape& weight = site.shape(1);
  if (in.size() != 3 || weight.size() != 3 || weight[0] != in[1] || weight[2] < 1)
    return site.contradiction(to_string(in) + " with weight " + to_string(weight));
  site.give(0, site.in(0).dtype, in);
  site.give(1, site.in(0).dtype, {in[0], in[1], weight[2] - 1});
  return {};
}

Status as_first(Site& site) {
  site.give(0, site.in(0).dtype, site.shape(0));
  return {};
}

// X, and tables of cosines and sines: [places, half] with place numbers, else [B, S, half].
Status rotated(Site& site) {
  ASSAY_TRY(const Heads x, heads_of(site, 0, "num_heads"));
  const std::int64_t stated = site.integer("rotary_embedding_dim", 0);
  if (stated < 0 || stated > x.size || (stated == 0 ? x.size : stated) % 2 != 0)
    return site.contradiction(fmt::format("a rotation of {} elements of {}", stated, x.size));
  for (const std::size_t table : {1U, 2U})
    if (site.rank(table) != (site.has(3) ? 2 : 3)) return site.contradiction("tables of another rank");
  return as_first(site);
}

Status cache_written(Site& site) {
  if (site.rank(0) != site.rank(1)) return site.contradiction("an update of another rank");
  ASSAY_TRY([[maybe_unused]] const std::size_t axis, site.axis(site.integer("axis", -2), site.rank(0)));
  return as_first(site);
}

}  // namespace

ShapeRule find_attention_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = {
      {"Attention", attention},     {"LinearAttention", linear_attention}, {"CausalConvWithState", causal_convolution},
      {"RotaryEmbedding", rotated}, {"TensorScatter", cache_written},      {"SwiGLU", as_first},
  };
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
