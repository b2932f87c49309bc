// SPDX-License-Identifier: Apache-2.0
// Operators that keep or broadcast shapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/graph/shape_rules.hpp"

namespace assay {
namespace {

using Elements = std::vector<std::int64_t>;
using Unsigned = std::uint64_t;

// Arithmetic of integers wraps around, as the runtimes' does.
std::int64_t wrapped(Unsigned value) { return static_cast<std::int64_t>(value); }

Status same(Site& site) {
  site.give(0, site.in(0).dtype, site.shape(0));
  return {};
}

Status same_elements(Site& site) {
  site.keep_elements();
  return same(site);
}

// Softmax and similar operators: over the last axis from opset 13 on, over axis 1 and those behind it before.
Status same_along_axis(Site& site) {
  const std::int64_t axis = site.integer("axis", site.opset() < 13 ? 1 : -1);
  const bool behind_the_last = site.opset() < 13 && axis == site.rank(0);  // flattened there, which ONNX allows
  if (!behind_the_last && site.rank(0) > 0) {
    ASSAY_TRY([[maybe_unused]] const std::size_t at, site.axis(axis, site.rank(0)));
  }
  return same(site);
}

Status negated(Site& site) {
  if (const auto* elements = site.elements(0)) {
    Elements result = *elements;
    for (std::int64_t& x : result) x = wrapped(0 - static_cast<Unsigned>(x));
    site.give_elements(0, std::move(result));
  }
  return same(site);
}

Status not_of(Site& site) {
  if (const auto* elements = site.elements(0)) {
    Elements result = *elements;
    for (std::int64_t& x : result) x = x == 0 ? 1 : 0;
    site.give_elements(0, std::move(result));
  }
  return same(site);
}

Status cast_to(Site& site, DType to) {
  site.give(0, to, site.shape(0));
  // settle_elements() does the rest.
  site.keep_elements();
  if (const auto* elements = site.elements(0)) site.give_reals(0, {elements->begin(), elements->end()});
  if (const auto* reals = site.reals(0); reals != nullptr && folds(to)) {
    constexpr double kWithin = 2147483647;  // beyond int32, runtimes differ
    Elements whole;
    for (const double real : *reals) {
      if (!(std::abs(real) <= kWithin)) return {};
      whole.push_back(to == DType::kBool ? (real != 0 ? 1 : 0) : static_cast<std::int64_t>(real));
    }
    site.give_elements(0, std::move(whole));
  }
  return {};
}

Status cast(Site& site) {
  const auto to = static_cast<DType>(site.integer("to", 0));
  if (site.node().attribute("to") == nullptr || site.integer("to", 0) < 1 || to_string(to) == "undefined")
    return site.contradiction(fmt::format("to the element type {}", site.integer("to", 0)));
  return cast_to(site, to);
}
Status cast_like(Site& site) { return cast_to(site, site.in(1).dtype); }

// Floor, Ceil and Sqrt are exact or correctly rounded everywhere.
template <double (*Function)(double)>
Status mapped(Site& site) {
  if (const auto* reals = site.reals(0)) {
    std::vector<double> result = *reals;
    for (double& x : result) x = Function(x);
    site.give_reals(0, std::move(result));
  }
  return same(site);
}
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double root_of(double x) { return std::sqrt(x); }

Status dropped(Site& site) {
  site.give(1, DType::kBool, site.shape(0));
  return same_elements(site);
}

Result<Shape> common_shape(const Site& site) {
  Shape shape = site.shape(0);
  for (std::size_t i = 1; i < site.inputs(); ++i) {
    if (!site.has(i)) continue;
    const std::optional<Shape> wider = broadcast(shape, site.shape(i));
    if (!wider) {
      return site.contradiction("shapes " + to_string(shape) + " and " + to_string(site.shape(i)) +
                                " do not broadcast");
    }
    shape = *wider;
  }
  return shape;
}

// The elements of all inputs at each place of `shape`; empty when some are unknown or they are too many.
std::vector<Elements> operands(const Site& site, const Shape& shape) {
  std::vector<Elements> all;
  if (count_of(shape) > kMostElements) return {};
  for (std::size_t i = 0; i < site.inputs(); ++i) {
    const Elements* elements = site.elements(i);
    if (elements == nullptr) return {};
    const std::vector<std::size_t> places = broadcast_places(site.shape(i), shape);
    Elements spread(places.size());
    for (std::size_t at = 0; at < places.size(); ++at) spread[at] = (*elements)[places[at]];
    all.push_back(std::move(spread));
  }
  return all;
}

using Binary = std::optional<std::int64_t> (*)(std::int64_t, std::int64_t);

std::optional<std::int64_t> divide(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return std::nullopt;
  return a / b;
}
// The sign of the dividend, as C's fmod.
std::optional<std::int64_t> remainder(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<std::int64_t>(0);
  return a % b;
}
// The sign of the divisor, as Python's.
std::optional<std::int64_t> modulo(std::int64_t a, std::int64_t b) {
  if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::optional<std::int64_t>(0);
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Binary function_of(std::string_view op) {
  static const std::map<std::string_view, Binary> all = {
      {"Add", [](std::int64_t a, std::int64_t b) { return std::optional(wrapped(Unsigned(a) + Unsigned(b))); }},
      {"Sub", [](std::int64_t a, std::int64_t b) { return std::optional(wrapped(Unsigned(a) - Unsigned(b))); }},
      {"Mul", [](std::int64_t a, std::int64_t b) { return std::optional(wrapped(Unsigned(a) * Unsigned(b))); }},
      {"Div", divide},
      {"Mod", modulo},
      {"Max", [](std::int64_t a, std::int64_t b) { return std::optional(std::max(a, b)); }},
      {"Min", [](std::int64_t a, std::int64_t b) { return std::optional(std::min(a, b)); }},
      {"Sum", [](std::int64_t a, std::int64_t b) { return std::optional(wrapped(Unsigned(a) + Unsigned(b))); }},
      {"And", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a != 0 && b != 0); }},
      {"Or", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a != 0 || b != 0); }},
      {"Xor", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>((a != 0) != (b != 0)); }},
      {"Equal", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a == b); }},
      {"Less", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a < b); }},
      {"LessOrEqual", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a <= b); }},
      {"Greater", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a > b); }},
      {"GreaterOrEqual", [](std::int64_t a, std::int64_t b) { return std::optional<std::int64_t>(a >= b); }},
  };
  const auto found = all.find(op);
  return found == all.end() ? nullptr : found->second;
}

// Two operands. Computing float32 in double and rounding afterwards gives the same result for these operators.
void combine_reals(Site& site, const Shape& shape) {
  using Function = double (*)(double, double);
  static const std::map<std::string_view, Function> all = {{"Add", [](double a, double b) { return a + b; }},
                                                           {"Sub", [](double a, double b) { return a - b; }},
                                                           {"Mul", [](double a, double b) { return a * b; }},
                                                           {"Div", [](double a, double b) { return a / b; }}};
  const auto function = all.find(site.node().op_type);
  const auto* left = site.reals(0);
  const auto* right = site.reals(1);
  if (function == all.end() || left == nullptr || right == nullptr || count_of(shape) > kMostReals) return;
  const std::vector<std::size_t> a = broadcast_places(site.shape(0), shape);
  const std::vector<std::size_t> b = broadcast_places(site.shape(1), shape);
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = function->second((*left)[a[i]], (*right)[b[i]]);
  site.give_reals(0, std::move(result));
}

Status combined_as(Site& site, DType dtype) {
  ASSAY_TRY(const Shape shape, common_shape(site));
  site.give(0, dtype, shape);
  combine_reals(site, shape);
  Binary function = function_of(site.node().op_type);
  if (site.node().op_type == "Mod" && site.integer("fmod", 0) != 0) function = remainder;
  const std::vector<Elements> all = operands(site, shape);
  if (function == nullptr || all.empty()) return {};
  Elements result = all.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    for (std::size_t at = 0; at < result.size(); ++at) {
      const std::optional<std::int64_t> one = function(result[at], all[i][at]);
      if (!one) return {};
      result[at] = *one;
    }
  }
  site.give_elements(0, std::move(result));
  return {};
}

Status combined(Site& site) { return combined_as(site, site.in(0).dtype); }
Status compared(Site& site) { return combined_as(site, DType::kBool); }

Status where(Site& site) {
  ASSAY_TRY(const Shape shape, common_shape(site));
  site.give(0, site.in(1).dtype, shape);
  if (site.inputs() != 3) return site.contradiction(fmt::format("{} inputs instead of 3", site.inputs()));
  const std::vector<Elements> all = operands(site, shape);
  if (all.empty()) return {};
  Elements result(all[0].size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = all[0][i] != 0 ? all[1][i] : all[2][i];
  site.give_elements(0, std::move(result));
  return {};
}

Status quantised(Site& site) {
  DType to = site.has(2) ? site.in(2).dtype : DType::kUInt8;
  if (const std::int64_t asked = site.integer("output_dtype", 0); asked != 0) to = static_cast<DType>(asked);
  site.give(0, to, site.shape(0));
  return {};
}

Status dequantised(Site& site) {
  site.give(0, site.in(1).dtype, site.shape(0));
  return {};
}

Status quantised_by_itself(Site& site) {
  site.give(0, DType::kUInt8, site.shape(0));
  site.give(1, DType::kFloat32, {});
  site.give(2, DType::kUInt8, {});
  return {};
}

// Further outputs, in training, are the running mean and variance.
Status batch_normalised(Site& site) {
  site.give(0, site.in(0).dtype, site.shape(0));
  if (site.integer("training_mode", 0) == 0) return {};
  site.give(1, site.in(3).dtype, site.shape(3));
  site.give(2, site.in(4).dtype, site.shape(4));
  return {};
}

// Further outputs are the statistics: one of each for the axes that are normalised.
Status layer_normalised(Site& site) {
  ASSAY_TRY(const std::size_t first, site.axis(site.integer("axis", -1), site.rank(0)));
  site.give(0, site.in(0).dtype, site.shape(0));
  Shape shape = site.shape(0);
  std::fill(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.end(), 1);
  const auto type = static_cast<DType>(site.integer("stash_type", static_cast<std::int64_t>(DType::kFloat32)));
  site.give(1, type, shape);
  site.give(2, type, shape);
  return {};
}

// Further outputs of RMSNormalization are statistics, which runtimes do not return.
Status normalised_from_axis(Site& site) {
  ASSAY_TRY([[maybe_unused]] const std::size_t axis, site.axis(site.integer("axis", -1), site.rank(0)));
  return same(site);
}

Status nan_like(Site& site) {
  site.give(0, DType::kBool, site.shape(0));
  return {};
}

}  // namespace

ShapeRule find_elementwise_rule(std::string_view op_type) {
  static const std::map<std::string_view, ShapeRule> all = [] {
    std::map<std::string_view, ShapeRule> rules = {
        {"Identity", same_elements},
        {"Neg", negated},
        {"Not", not_of},
        {"Cast", cast},
        {"CastLike", cast_like},
        {"Floor", mapped<floor_of>},
        {"Ceil", mapped<ceil_of>},
        {"Sqrt", mapped<root_of>},
        {"Where", where},
        {"Dropout", dropped},
        {"QuantizeLinear", quantised},
        {"DequantizeLinear", dequantised},
        {"DynamicQuantizeLinear", quantised_by_itself},
        {"IsNaN", nan_like},
        {"IsInf", nan_like},
        {"BatchNormalization", batch_normalised},
        {"LayerNormalization", layer_normalised},
    };
    for (const char* op : {"Abs",         "Acos",
                           "Acosh",       "Asin",
                           "Asinh",       "Atan",
                           "Atanh",       "BitwiseNot",
                           "Celu",        "Clip",
                           "Cos",         "Cosh",
                           "Elu",         "Erf",
                           "Exp",         "Gelu",
                           "HardSigmoid", "HardSwish",
                           "LRN",         "LeakyRelu",
                           "Log",         "Mish",
                           "PRelu",       "Reciprocal",
                           "Relu",        "Round",
                           "Selu",        "Shrink",
                           "Sigmoid",     "Sign",
                           "Sin",         "Sinh",
                           "Softplus",    "Softsign",
                           "Swish",       "Tan",
                           "Tanh",        "ThresholdedRelu",
                           "Trilu",       "MeanVarianceNormalization"})
      rules.emplace(op, same);
    for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) rules.emplace(op, same_along_axis);
    for (const char* op : {"InstanceNormalization", "GroupNormalization"}) rules.emplace(op, same);
    for (const char* op : {"RMSNormalization", "LpNormalization"}) rules.emplace(op, normalised_from_axis);
    for (const char* op : {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor",
                           "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"})
      rules.emplace(op, combined);
    for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) rules.emplace(op, compared);
    return rules;
  }();
  const auto found = all.find(op_type);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace assay
