// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "models/evaluate/kernels/attention.hpp"
#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {

Result<std::int64_t> stated_heads(const Call& call, std::string_view attribute) {
  constexpr std::int64_t kMostHeads = std::int64_t{1} << 20;
  const std::int64_t heads = call.integer(attribute, 0);
  if (heads < 1 || heads > kMostHeads)
    return call.invalid(std::string(attribute) + " " + std::to_string(heads) + " is not a number of heads");
  return heads;
}

Heads heads_from(std::span<const double> x, std::int64_t batch, std::int64_t tokens, std::int64_t heads,
                 std::int64_t width, std::int64_t stride, std::int64_t first) {
  Heads found{batch, heads, tokens, width, {}};
  found.x.resize(static_cast<std::size_t>(found.count()));
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t t = 0; t < tokens; ++t)
      for (std::int64_t h = 0; h < heads; ++h)
        std::copy_n(x.data() + (b * tokens + t) * stride + first + h * width, width, found.row(b, h, t));
  return found;
}

Value side_by_side(const Heads& heads, DType dtype) {
  Reals y(heads.x.size());
  double* to = y.data();
  for (std::int64_t b = 0; b < heads.batch; ++b)
    for (std::int64_t t = 0; t < heads.tokens; ++t)
      for (std::int64_t h = 0; h < heads.heads; ++h) to = std::copy_n(heads.row(b, h, t), heads.width, to);
  return {dtype, {heads.batch, heads.tokens, heads.heads * heads.width}, std::move(y)};
}

Value as_value(const Heads& heads, DType dtype) { return {dtype, heads.shape(), heads.x}; }

Heads joined(const Heads& past, const Heads& now) {
  Heads all = now;
  all.tokens += past.tokens;
  all.x.resize(static_cast<std::size_t>(all.count()));
  for (std::int64_t b = 0; b < all.batch; ++b)
    for (std::int64_t h = 0; h < all.heads; ++h) {
      std::copy_n(past.row(b, h, 0), past.tokens * all.width, all.row(b, h, 0));
      std::copy_n(now.row(b, h, 0), now.tokens * all.width, all.row(b, h, past.tokens));
    }
  return all;
}

namespace {

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

// Scores to shares of 1. `sink`: −∞: none.
void to_shares(std::span<double> row, double sink) {
  double most = sink, total = 0;
  for (const double x : row) most = largest_of(DType::kFloat64, most, x);
  if (most == kUnseen) {
    std::ranges::fill(row, 0.0);
    return;
  }
  for (double& x : row) total += x = std::exp(x - most);
  total += std::exp(sink - most);
  for (double& x : row) x /= total;
}

}  // namespace

Result<Heads> attend(const Call& call, const Heads& q, const Heads& k, const Heads& v, const AttentionRules& rules,
                     const AttentionStages& stages) {
  Heads y{q.batch, q.heads, q.tokens, v.width, {}};
  ASSAY_TRY(const std::size_t count, call.elements_of(y.shape()));
  y.x.assign(count, 0.0);
  const std::int64_t queries = q.tokens, keys = k.tokens;
  ASSAY_CHECK_OK(call.elements_of({queries, keys}));
  const std::int64_t shared = k.heads == 0 ? 1 : q.heads / k.heads;
  const auto size = static_cast<std::size_t>(queries * keys);
  for (Reals* const stage : stages) {
    if (stage == nullptr) continue;
    ASSAY_TRY(const std::size_t scores, call.elements_of({q.batch, q.heads, queries, keys}));
    stage->assign(scores, 0.0);
  }
  const double cost =
      2.0 * static_cast<double>(queries) * static_cast<double>(keys) * static_cast<double>(q.width + v.width);
  parallel(call.threads(), q.batch * q.heads, cost, [&](std::int64_t begin, std::int64_t end) {
    Reals scores(size), bias(static_cast<std::size_t>(keys));
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t b = item / q.heads, h = item % q.heads, source = h / shared;
      const auto keep = [&](AttentionStage stage) {
        if (stages[stage] != nullptr)
          std::ranges::copy(scores, stages[stage]->begin() + item * static_cast<std::int64_t>(size));
      };
      std::ranges::fill(scores, 0.0);
      add_product({q.row(b, h, 0), q.width, 1}, {k.row(b, source, 0), 1, k.width}, scores.data(), queries, q.width,
                  keys, 1);
      for (double& x : scores) x *= rules.scale;
      keep(kRaw);
      if (rules.softcap > 0)
        for (double& x : scores) x = rules.softcap * std::tanh(x / rules.softcap);
      keep(kCapped);
      Reals unseen(static_cast<std::size_t>(queries), 0.0);
      for (std::int64_t i = 0; rules.bias && i < queries; ++i) {
        std::ranges::fill(bias, 0.0);
        rules.bias(b, h, i, bias);
        bool none = true;
        for (std::int64_t j = 0; j < keys; ++j) {
          none = none && bias[static_cast<std::size_t>(j)] == kUnseen;
          scores[static_cast<std::size_t>(i * keys + j)] += bias[static_cast<std::size_t>(j)];
        }
        unseen[static_cast<std::size_t>(i)] = none ? 1 : 0;
      }
      keep(kBiased);
      for (std::int64_t i = 0; i < queries; ++i) {
        const auto row = std::span(scores).subspan(static_cast<std::size_t>(i * keys), static_cast<std::size_t>(keys));
        if (unseen[static_cast<std::size_t>(i)] != 0)
          std::ranges::fill(row, 0.0);
        else
          to_shares(row, rules.sinks.empty() ? kUnseen : rules.sinks[static_cast<std::size_t>(h)]);
      }
      keep(kShares);
      add_product({scores.data(), keys, 1}, {v.row(b, source, 0), v.width, 1}, y.row(b, h, 0), queries, keys, v.width,
                  1);
    }
  });
  return y;
}

void apply_rotary(Heads& heads, std::int64_t width, bool interleaved, const RotaryTables& tables) {
  const std::int64_t half = width / 2;
  for (std::int64_t b = 0; b < heads.batch; ++b)
    for (std::int64_t t = 0; t < heads.tokens; ++t) {
      const auto [cosines, sines] = tables(b, t);
      for (std::int64_t h = 0; h < heads.heads; ++h) {
        double* const row = heads.row(b, h, t);
        for (std::int64_t i = 0; i < half; ++i) {
          double &first = row[interleaved ? 2 * i : i], &second = row[interleaved ? 2 * i + 1 : i + half];
          const double x = first, y = second;
          first = cosines[i] * x - sines[i] * y;
          second = sines[i] * x + cosines[i] * y;
        }
      }
    }
}

Result<AddedBias> mask_bias(const Call& call, const Value& mask, const Shape& scores) {
  const std::int64_t rank = mask.rank(), given = rank == 0 ? 1 : mask.shape().back(), keys = scores[3];
  Shape outer = mask.shape();
  if (rank > 0) outer.pop_back();
  const Shape whole(scores.begin(), scores.end() - 1);
  if (rank > 4 || given > keys || broadcast(outer, whole) != whole)
    return call.invalid("a mask " + to_string(mask.shape()) + " for scores " + to_string(scores));
  const std::vector<std::int64_t> strides = repeated(outer, whole).strides;
  const bool is_bool = mask.dtype() == DType::kBool;
  return AddedBias(
      [&mask, strides, given, is_bool](std::int64_t b, std::int64_t h, std::int64_t i, std::span<double> bias) {
        const std::int64_t first = (b * strides[0] + h * strides[1] + i * strides[2]) * given;
        for (std::size_t j = 0; j < bias.size(); ++j) {
          if (static_cast<std::int64_t>(j) >= given) {
            bias[j] = kUnseen;
            continue;
          }
          const double one = mask.number(static_cast<std::size_t>(first) + j);
          bias[j] += !is_bool ? one : one != 0 ? 0 : kUnseen;
        }
      });
}

}  // namespace assay::evaluate
