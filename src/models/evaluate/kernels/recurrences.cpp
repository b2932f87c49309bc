// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernels/recurrences.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/evaluate/kernels/activations.hpp"
#include "models/evaluate/kernels/attention.hpp"

namespace assay::evaluate {
namespace {

/// What one node says about its state.
struct Recurrence {
  std::int64_t batch = 0, tokens = 0, q_heads = 0, heads = 0, width = 0, value_width = 0;
  std::int64_t decay_width = 0, rate_heads = 0;  ///< 0: none
  double scale = 1;
};

Result<Recurrence> recurrence_of(const Call& call) {
  const std::string_view rule = call.text("update_rule", "gated_delta");
  const bool fades = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!fades && !corrects && rule != "linear") return call.invalid("an unknown update_rule");
  if (fades != call.has(4) || corrects != call.has(5)) return call.invalid("inputs that do not fit the update_rule");
  Recurrence r;
  ASSAY_TRY(r.q_heads, stated_heads(call, "q_num_heads"));
  ASSAY_TRY(r.heads, stated_heads(call, "kv_num_heads"));
  const Shape &q = call.shape(0), &k = call.shape(1), &v = call.shape(2);
  if (r.q_heads % r.heads != 0 || q.size() != 3 || k.size() != 3 || v.size() != 3 || q[2] % r.q_heads != 0 ||
      v[2] % r.heads != 0)
    return call.invalid("the heads do not fit its inputs");
  r.batch = q[0];
  r.tokens = q[1];
  r.width = q[2] / r.q_heads;
  r.value_width = v[2] / r.heads;
  if (k != Shape{r.batch, r.tokens, r.heads * r.width} || v[0] != r.batch || v[1] != r.tokens)
    return call.invalid("queries, keys and values do not fit together");
  if (call.has(3) && call.shape(3) != Shape{r.batch, r.heads, r.width, r.value_width})
    return call.invalid("a state " + to_string(call.shape(3)) + " that does not fit");
  if (fades) {
    const Shape& decay = call.shape(4);
    if (decay.size() != 3 || decay[0] != r.batch || decay[1] != r.tokens ||
        (decay[2] != r.heads && decay[2] != r.heads * r.width))
      return call.invalid("a decay that does not fit");
    r.decay_width = decay[2] / r.heads;
  }
  if (corrects) {
    const Shape& rate = call.shape(5);
    if (rate.size() != 3 || rate[0] != r.batch || rate[1] != r.tokens || (rate[2] != r.heads && rate[2] != 1))
      return call.invalid("a beta that does not fit");
    r.rate_heads = rate[2];
  }
  r.scale = call.number("scale", 0);
  if (r.scale == 0) r.scale = 1 / std::sqrt(static_cast<double>(r.width));
  return r;
}

}  // namespace

// The state of a head is a matrix of keys by values: faded, corrected, added to, then read by its queries.
Outputs linear_attention(const Call& call) {
  ASSAY_TRY(const Recurrence r, recurrence_of(call));
  ASSAY_TRY(const auto q, call.reals(0));
  ASSAY_TRY(const auto k, call.reals(1));
  ASSAY_TRY(const auto v, call.reals(2));
  std::span<const double> past, decay, rate;
  for (const auto& [into, place] : {std::pair(&past, 3U), std::pair(&decay, 4U), std::pair(&rate, 5U)})
    if (call.has(place)) {
      ASSAY_TRY(*into, call.reals(place));
    }
  const Shape of_states{r.batch, r.heads, r.width, r.value_width};
  ASSAY_TRY(const std::size_t in_states, call.elements_of(of_states));
  ASSAY_TRY(const std::size_t in_result, call.elements_of({r.batch, r.tokens, r.q_heads, r.value_width}));
  Reals states(in_states, 0.0);
  if (!past.empty()) std::ranges::copy(past, states.begin());
  Reals y(in_result, 0.0);
  const std::int64_t shared = r.q_heads / r.heads;
  parallel(call.threads(), r.batch * r.heads,
           static_cast<double>(r.tokens * r.width * r.value_width * (4 + 2 * shared)),
           [&](std::int64_t begin, std::int64_t end) {
             Reals change(static_cast<std::size_t>(r.value_width));
             for (std::int64_t item = begin; item < end; ++item) {
               const std::int64_t b = item / r.heads, h = item % r.heads;
               double* const state = states.data() + item * r.width * r.value_width;
               for (std::int64_t t = 0; t < r.tokens; ++t) {
                 const std::int64_t token = b * r.tokens + t;
                 const double* const key = k.data() + (token * r.heads + h) * r.width;
                 for (std::int64_t i = 0; r.decay_width > 0 && i < r.width; ++i) {
                   const double keep = std::exp(decay[static_cast<std::size_t>((token * r.heads + h) * r.decay_width +
                                                                               (r.decay_width == 1 ? 0 : i))]);
                   for (std::int64_t j = 0; j < r.value_width; ++j) state[i * r.value_width + j] *= keep;
                 }
                 for (std::int64_t j = 0; j < r.value_width; ++j) {
                   double one = v[static_cast<std::size_t>((token * r.heads + h) * r.value_width + j)];
                   if (r.rate_heads > 0) {
                     for (std::int64_t i = 0; i < r.width; ++i) one -= key[i] * state[i * r.value_width + j];
                     one *= rate[static_cast<std::size_t>(token * r.rate_heads + (r.rate_heads == 1 ? 0 : h))];
                   }
                   change[static_cast<std::size_t>(j)] = one;
                 }
                 for (std::int64_t i = 0; i < r.width; ++i)
                   for (std::int64_t j = 0; j < r.value_width; ++j)
                     state[i * r.value_width + j] += key[i] * change[static_cast<std::size_t>(j)];
                 for (std::int64_t head = h * shared; head < (h + 1) * shared; ++head) {
                   const double* const query = q.data() + (token * r.q_heads + head) * r.width;
                   double* const to = y.data() + (token * r.q_heads + head) * r.value_width;
                   for (std::int64_t i = 0; i < r.width; ++i)
                     for (std::int64_t j = 0; j < r.value_width; ++j)
                       to[j] += r.scale * query[i] * state[i * r.value_width + j];
                 }
               }
             }
           });
  Values results{Value(call.dtype(0), {r.batch, r.tokens, r.q_heads * r.value_width}, std::move(y))};
  results.emplace_back(call.has(3) ? call.dtype(3) : call.dtype(0), of_states, std::move(states));
  return results;
}

Outputs causal_convolution(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto w, call.reals(1));
  const Shape &in = call.shape(0), &of_w = call.shape(1);
  if (in.size() != 3 || of_w.size() != 3 || of_w[0] != in[1] || of_w[1] != 1 || of_w[2] < 1)
    return call.invalid("its input and weights do not fit together");
  const std::int64_t before = of_w[2] - 1, whole = before + in[2];
  const Shape of_state{in[0], in[1], before};
  ASSAY_CHECK_OK(call.elements_of(of_state));
  ASSAY_CHECK_OK(call.elements_of({in[0], in[1], whole}));
  std::span<const double> bias, past;
  if (call.has(2)) {
    ASSAY_TRY(bias, call.reals(2));
    if (call.shape(2) != Shape{in[1]}) return call.invalid("a bias that does not fit the channels");
  }
  if (call.has(3)) {
    ASSAY_TRY(past, call.reals(3));
    if (call.shape(3) != of_state)
      return call.invalid("a state " + to_string(call.shape(3)) + " instead of " + to_string(of_state));
  }
  const std::string_view activation = call.text("activation", "none");
  const bool gates = activation == "silu" || activation == "swish";
  if (!gates && activation != "none") return call.invalid("an unknown activation");
  Reals y, state, padded(static_cast<std::size_t>(whole), 0.0);
  for (std::int64_t row = 0; row < in[0] * in[1]; ++row) {
    if (!past.empty()) std::copy_n(past.data() + row * before, before, padded.data());
    std::copy_n(x.data() + row * in[2], in[2], padded.data() + before);
    const std::int64_t channel = row % in[1];
    for (std::int64_t t = 0; t < in[2]; ++t) {
      double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(channel)];
      for (std::int64_t k = 0; k < of_w[2]; ++k)
        sum += w[static_cast<std::size_t>(channel * of_w[2] + k)] * padded[static_cast<std::size_t>(t + k)];
      y.push_back(gates ? sum * sigmoid(sum) : sum);
    }
    state.insert(state.end(), padded.end() - before, padded.end());
  }
  Values results{Value(call.dtype(0), in, std::move(y))};
  results.emplace_back(call.dtype(0), of_state, std::move(state));
  return results;
}

}  // namespace assay::evaluate
