// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "models/evaluate/kernels/activations.hpp"
#include "models/evaluate/kernels/elementwise.hpp"

namespace assay::evaluate {

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

void softmax(std::span<double> row, std::size_t step, std::size_t count) {
  double most = -HUGE_VAL, total = 0;
  for (std::size_t i = 0; i < count; ++i) most = std::max(most, row[i * step]);
  for (std::size_t i = 0; i < count; ++i) total += row[i * step] = std::exp(row[i * step] - most);
  for (std::size_t i = 0; i < count; ++i) row[i * step] /= total;
}

namespace {

template <double (*F)(double)>
Outputs activation(const Call& call) {
  return map_reals(call, [](double x) { return F(x); });
}
double relu(double x) { return std::isnan(x) ? x : std::max(x, 0.0); }
double mish(double x) { return x * std::tanh(softplus(x)); }
double softsign(double x) { return x / (1 + std::abs(x)); }
double hard_swish(double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }

Outputs relu_of(const Call& call) {
  if (call.operand(0).is_real()) return activation<relu>(call);
  Integers y(call.operand(0).integers().begin(), call.operand(0).integers().end());
  for (std::int64_t& x : y) x = std::max<std::int64_t>(x, 0);
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

Outputs celu(const Call& call) {
  const double alpha = call.number("alpha", 1);
  return map_reals(call, [=](double x) {
    return std::isnan(x) ? x : std::max(0.0, x) + std::min(0.0, alpha * std::expm1(x / alpha));
  });
}
Outputs elu(const Call& call) {
  const double alpha = call.number("alpha", 1);
  return map_reals(call, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}
Outputs selu(const Call& call) {
  const double alpha = call.number("alpha", 1.67326319217681884765625F),
               gamma = call.number("gamma", 1.05070102214813232421875F);
  return map_reals(call, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}
Outputs leaky_relu(const Call& call) {
  const double alpha = call.number("alpha", 0.01F);
  return map_reals(call, [=](double x) { return x < 0 ? alpha * x : x; });
}
Outputs thresholded_relu(const Call& call) {
  const double alpha = call.number("alpha", 1);
  return map_reals(call, [=](double x) { return x > alpha ? x : 0; });
}
Outputs hard_sigmoid(const Call& call) {
  const double alpha = call.number("alpha", 0.2F), beta = call.number("beta", 0.5F);
  return map_reals(call, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
}
Outputs shrink(const Call& call) {
  const double bias = call.number("bias", 0), limit = call.number("lambd", 0.5F);
  const auto shrunk = [=](double x) { return x < -limit ? x + bias : x > limit ? x - bias : 0; };
  if (call.operand(0).is_real()) return map_reals(call, shrunk);
  Integers y;
  for (const std::int64_t x : call.operand(0).integers())
    y.push_back(truncated_to(call.dtype(0), shrunk(static_cast<double>(x))));
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}
Outputs swish(const Call& call) {
  const double alpha = call.number("alpha", 1);
  return map_reals(call, [=](double x) { return x * sigmoid(alpha * x); });
}
Outputs gelu_of(const Call& call) {
  return call.text("approximate", "none") == "tanh" ? activation<gelu_tanh>(call) : activation<gelu>(call);
}

Outputs prelu(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  ASSAY_TRY(const auto slope, call.reals(1));
  Shape of_slope = call.shape(1);
  // Before operator set 7 the slope had one number for each channel.
  if (call.opset() < 7 && of_slope.size() == 1 && call.operand(0).rank() > 1)
    of_slope.resize(static_cast<std::size_t>(call.operand(0).rank() - 1), 1);
  if (broadcast(call.shape(0), of_slope) != call.shape(0)) return call.invalid("the slope does not fit the input");
  return Values{Value(call.dtype(0), call.shape(0),
                      combined<double>(x, call.shape(0), slope, of_slope, call.shape(0),
                                       [](double a, double b) { return a < 0 ? a * b : a; }))};
}

// Softmax and its kin: along one axis, or, before operator set 13, over all axes from it on.
template <class F>
Outputs along_axis(const Call& call, F f) {
  ASSAY_TRY(const auto x, call.reals(0));
  const bool flattens = call.opset() < 13;
  const std::int64_t rank = call.operand(0).rank(), given = call.integer("axis", flattens ? 1 : -1);
  std::int64_t axis = 0;
  if (rank > 0 && !(flattens && given == rank)) {
    ASSAY_TRY(axis, call.axis(given, rank));
  }
  const Around parts = around(call.shape(0), axis, flattens ? rank : axis + 1);
  Reals y(x.begin(), x.end());
  if (parts.extent == 0) return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
  for (std::int64_t i = 0; i < parts.outer * parts.inner; ++i) {
    const std::int64_t first = i / parts.inner * parts.extent * parts.inner + i % parts.inner;
    f(std::span(y).subspan(static_cast<std::size_t>(first)), static_cast<std::size_t>(parts.inner),
      static_cast<std::size_t>(parts.extent));
  }
  return Values{Value(call.dtype(0), call.shape(0), std::move(y))};
}

Outputs softmax_of(const Call& call) { return along_axis(call, &softmax); }
Outputs log_softmax(const Call& call) {
  return along_axis(call, [](std::span<double> row, std::size_t step, std::size_t count) {
    double most = -HUGE_VAL, total = 0;
    for (std::size_t i = 0; i < count; ++i) most = std::max(most, row[i * step]);
    for (std::size_t i = 0; i < count; ++i) total += std::exp(row[i * step] - most);
    for (std::size_t i = 0; i < count; ++i) row[i * step] -= most + std::log(total);
  });
}
Outputs hardmax(const Call& call) {
  return along_axis(call, [](std::span<double> row, std::size_t step, std::size_t count) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < count; ++i)
      if (row[i * step] > row[best * step]) best = i;
    for (std::size_t i = 0; i < count; ++i) row[i * step] = i == best ? 1 : 0;
  });
}

}  // namespace

Operators activation_operators() {
  return {{"Celu", &celu},
          {"Elu", &elu},
          {"Gelu", &gelu_of},
          {"HardSigmoid", &hard_sigmoid},
          {"HardSwish", &activation<hard_swish>},
          {"Hardmax", &hardmax},
          {"LeakyRelu", &leaky_relu},
          {"LogSoftmax", &log_softmax},
          {"Mish", &activation<mish>},
          {"PRelu", &prelu, 2},
          {"Relu", &relu_of},
          {"Selu", &selu},
          {"Shrink", &shrink},
          {"Sigmoid", &activation<sigmoid>},
          {"Softmax", &softmax_of},
          {"Softplus", &activation<softplus>},
          {"Softsign", &activation<softsign>},
          {"Swish", &swish},
          {"Tanh", &activation<std::tanh>},
          {"ThresholdedRelu", &thresholded_relu}};
}

}  // namespace assay::evaluate
