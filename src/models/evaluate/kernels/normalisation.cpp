// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernels/normalisation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/strides.hpp"

namespace assay::evaluate {

NormalisedRows normalise_rows(std::span<const double> x, std::size_t size, double epsilon, bool centres,
                              std::span<const double> scale, std::span<const double> shift) {
  NormalisedRows rows{.y = Reals(x.size()), .mean = {}, .inverse_deviation = {}};
  for (std::size_t first = 0; size > 0 && first + size <= x.size(); first += size) {
    double mean = 0, variance = 0;
    if (centres) {
      for (std::size_t i = 0; i < size; ++i) mean += x[first + i];
      mean /= static_cast<double>(size);
    }
    for (std::size_t i = 0; i < size; ++i) variance += (x[first + i] - mean) * (x[first + i] - mean);
    const double inverse = 1 / std::sqrt(variance / static_cast<double>(size) + epsilon);
    for (std::size_t i = 0; i < size; ++i)
      rows.y[first + i] =
          (x[first + i] - mean) * inverse * (scale.empty() ? 1.0 : scale[i]) + (shift.empty() ? 0.0 : shift[i]);
    rows.mean.push_back(mean);
    rows.inverse_deviation.push_back(inverse);
  }
  return rows;
}

namespace {

double epsilon_of(const Call& call) { return call.number("epsilon", 1e-5F); }

// Each element of y and the element of the operand, which is repeated to the shape of y, become f of both. An operand
// that was not given changes nothing.
template <class F>
Result<Reals> combined_with(const Call& call, Reals y, std::size_t place, F f) {
  if (!call.has(place)) return y;
  ASSAY_TRY(const auto other, call.reals(place));
  const Shape& to = call.shape(0);
  if (broadcast(call.shape(place), to) != to) return call.invalid("its scale or bias does not fit the input");
  return combined<double>(y, to, other, call.shape(place), to, f);
}

Outputs over_last_axes(const Call& call, bool centres) {
  ASSAY_TRY(const auto x, call.reals(0));
  const std::int64_t rank = call.operand(0).rank();
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", -1), rank));
  const Shape normalised(call.shape(0).begin() + axis, call.shape(0).end());
  NormalisedRows rows =
      normalise_rows(x, static_cast<std::size_t>(count_of(normalised)), epsilon_of(call), centres, {}, {});
  // A scale or a bias may differ from row to row.
  ASSAY_TRY(Reals scaled, combined_with(call, std::move(rows.y), 1, [](double a, double b) { return a * b; }));
  ASSAY_TRY(Reals y, combined_with(call, std::move(scaled), 2, [](double a, double b) { return a + b; }));
  Values results{Value(call.dtype(0), call.shape(0), std::move(y))};
  if (!centres) return results;
  Shape of_rows = call.shape(0);
  std::fill(of_rows.begin() + axis, of_rows.end(), 1);
  ASSAY_CHECK_OK(call.elements_of(of_rows));
  rows.mean.resize(static_cast<std::size_t>(count_of(of_rows)));
  rows.inverse_deviation.resize(rows.mean.size());
  results.emplace_back(DType::kFloat32, of_rows, std::move(rows.mean));
  results.emplace_back(DType::kFloat32, of_rows, std::move(rows.inverse_deviation));
  return results;
}
Outputs layer_normalization(const Call& call) { return over_last_axes(call, true); }
Outputs rms_normalization(const Call& call) { return over_last_axes(call, false); }

// y = x · factor[c] + shift[c], c the channel.
Outputs by_channel(const Call& call, std::span<const double> x, const Reals& factor, const Reals& shift) {
  const Around parts = around(call.shape(0), 1);
  Reals y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t c = i / static_cast<std::size_t>(parts.inner) % factor.size();
    y[i] = x[i] * factor[c] + shift[c];
  }
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

Outputs batch_normalization(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  if (call.operand(0).rank() < 2) return call.invalid("an input of rank below 2");
  const auto channels = static_cast<std::size_t>(call.shape(0)[1]);
  std::vector<std::span<const double>> given;
  for (std::size_t i = 1; i < 5; ++i) {
    ASSAY_TRY(const auto all, call.reals(i));
    if (all.size() != channels) return call.invalid("its parameters do not have one number for each channel");
    given.push_back(all);
  }
  const bool trains = call.integer("training_mode", 0) != 0 || (call.opset() < 7 && call.integer("is_test", 0) == 0);
  Reals mean(given[2].begin(), given[2].end()), variance(given[3].begin(), given[3].end());
  Values running;
  if (trains) {
    if (call.opset() < 14) return call.unsupported("its training mode");
    const double momentum = call.number("momentum", 0.9F);
    const Around parts = around(call.shape(0), 1);
    const auto n = static_cast<double>(parts.outer * parts.inner);
    std::fill(mean.begin(), mean.end(), 0.0);
    std::fill(variance.begin(), variance.end(), 0.0);
    const auto channel = [&](std::size_t i) { return i / static_cast<std::size_t>(parts.inner) % channels; };
    for (std::size_t i = 0; i < x.size(); ++i) mean[channel(i)] += x[i] / n;
    for (std::size_t i = 0; i < x.size(); ++i)
      variance[channel(i)] += (x[i] - mean[channel(i)]) * (x[i] - mean[channel(i)]) / n;
    for (const auto& [before, now] : {std::pair(given[2], &mean), std::pair(given[3], &variance)}) {
      Reals all(channels);
      for (std::size_t c = 0; c < channels; ++c) all[c] = before[c] * momentum + (*now)[c] * (1 - momentum);
      running.emplace_back(call.dtype(3), call.shape(3), std::move(all));
    }
  }
  Reals factor(channels), shift(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    factor[c] = given[0][c] / std::sqrt(variance[c] + epsilon_of(call));
    shift[c] = given[1][c] - mean[c] * factor[c];
  }
  ASSAY_TRY(Values results, by_channel(call, x, factor, shift));
  results.insert(results.end(), running.begin(), running.end());
  return results;
}

// Groups of channels of each item are normalised by themselves; scale and bias have one number for each channel, or,
// before operator set 21, for each group.
Outputs by_groups(const Call& call, std::int64_t groups) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto scale, call.reals(1));
  ASSAY_TRY(const auto bias, call.reals(2));
  if (call.operand(0).rank() < 2) return call.invalid("an input of rank below 2");
  const std::int64_t channels = call.shape(0)[1], items = call.shape(0)[0];
  const bool of_groups = scale.size() == static_cast<std::size_t>(groups);
  if (groups < 1 || channels % groups != 0 || scale.size() != bias.size() ||
      (!of_groups && scale.size() != static_cast<std::size_t>(channels)))
    return call.invalid("its scale, bias or groups do not fit the channels");
  const auto plane = static_cast<std::size_t>(around(call.shape(0), 1).inner);
  const auto own = static_cast<std::size_t>(channels / groups);
  NormalisedRows rows = normalise_rows(x, own * plane, epsilon_of(call), true, {}, {});
  for (std::size_t i = 0; items > 0 && i < rows.y.size(); ++i) {
    const std::size_t channel = i / plane % static_cast<std::size_t>(channels),
                      which = of_groups ? channel / own : channel;
    rows.y[i] = rows.y[i] * scale[which] + bias[which];
  }
  return Values{Value(call.dtype(0), call.shape(0), std::move(rows.y))};
}
Outputs group_normalization(const Call& call) { return by_groups(call, call.integer("num_groups", 1)); }
Outputs instance_normalization(const Call& call) {
  if (call.operand(0).rank() < 2) return call.invalid("an input of rank below 2");
  return by_groups(call, call.shape(0)[1]);
}

Outputs lrn(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  if (call.operand(0).rank() < 2) return call.invalid("an input of rank below 2");
  const double alpha = call.number("alpha", 1e-4F), beta = call.number("beta", 0.75F), bias = call.number("bias", 1);
  const std::int64_t size = call.integer("size", 1);
  if (size < 1) return call.invalid("a size below 1");
  const Around parts = around(call.shape(0), 1);
  Reals y(x.size());
  for (std::int64_t o = 0; o < parts.outer; ++o)
    for (std::int64_t c = 0; c < parts.extent; ++c)
      for (std::int64_t i = 0; i < parts.inner; ++i) {
        const auto at = [&](std::int64_t channel) {
          return static_cast<std::size_t>((o * parts.extent + channel) * parts.inner + i);
        };
        double sum = 0;
        const std::int64_t first = std::max<std::int64_t>(0, c - (size - 1) / 2),
                           last = std::min(parts.extent - 1, c + size / 2);
        for (std::int64_t k = first; k <= last; ++k) sum += x[at(k)] * x[at(k)];
        y[at(c)] = x[at(c)] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
      }
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

Outputs lp_normalization(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const std::int64_t axis, call.axis(call.integer("axis", -1), call.operand(0).rank()));
  const std::int64_t p = call.integer("p", 2);
  const Around parts = around(call.shape(0), axis);
  Reals y(x.begin(), x.end());
  for (std::int64_t i = 0; i < parts.outer * parts.inner; ++i) {
    const std::int64_t first = i / parts.inner * parts.extent * parts.inner + i % parts.inner;
    double sum = 0;
    const auto at = [&](std::int64_t k) { return static_cast<std::size_t>(first + k * parts.inner); };
    for (std::int64_t k = 0; k < parts.extent; ++k) sum += p == 1 ? std::abs(x[at(k)]) : x[at(k)] * x[at(k)];
    const double norm = p == 1 ? sum : std::sqrt(sum);
    for (std::int64_t k = 0; k < parts.extent; ++k) y[at(k)] = norm == 0 ? 0 : x[at(k)] / norm;
  }
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

Outputs mean_variance_normalization(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  const auto given = call.node().integers("axes");
  const Integers standard{0, 2, 3};
  ASSAY_TRY(const std::vector<std::int64_t> axes,
            call.axes(given ? std::span<const std::int64_t>(*given) : standard, call.operand(0).rank()));
  // Elements with the same index on the other axes belong together.
  Shape kept = call.shape(0);
  for (const std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  ASSAY_CHECK_OK(call.elements_of(kept));
  const Strided group = repeated(kept, call.shape(0));
  const auto groups = static_cast<std::size_t>(count_of(kept));
  Reals sum(groups, 0), squares(groups, 0), count(groups, 0);
  std::vector<std::size_t> of;
  of.reserve(x.size());
  for_each_row(group, [&](std::int64_t place, std::int64_t step, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) of.push_back(static_cast<std::size_t>(place + i * step));
  });
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum[of[i]] += x[i];
    ++count[of[i]];
  }
  for (std::size_t i = 0; i < x.size(); ++i) squares[of[i]] += std::pow(x[i] - sum[of[i]] / count[of[i]], 2);
  Reals y(x.size());
  constexpr double kEpsilon = 1e-9;
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - sum[of[i]] / count[of[i]]) / (std::sqrt(squares[of[i]] / count[of[i]]) + kEpsilon);
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

}  // namespace

Operators normalisation_operators() {
  return {{"BatchNormalization", &batch_normalization, 5},
          {"GroupNormalization", &group_normalization, 3},
          {"InstanceNormalization", &instance_normalization, 3},
          {"LRN", &lrn},
          {"LayerNormalization", &layer_normalization, 2},
          {"LpNormalization", &lp_normalization},
          {"MeanVarianceNormalization", &mean_variance_normalization},
          {"RMSNormalization", &rms_normalization, 2},
          {"SimplifiedLayerNormalization", &rms_normalization, 2}};
}

}  // namespace assay::evaluate
