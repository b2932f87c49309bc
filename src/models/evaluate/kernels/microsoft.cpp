// SPDX-License-Identifier: Apache-2.0
// Operators that ONNX Runtime's tools put in the place of several nodes.
#include "models/evaluate/kernels/microsoft.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/evaluate/kernels/activations.hpp"
#include "models/evaluate/kernels/convolution.hpp"
#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/kernels/normalisation.hpp"
#include "models/evaluate/kernels/product.hpp"

namespace assay::evaluate {

Outputs as_onnx(const Call& call, std::string_view name, std::int64_t opset, std::vector<const Value*> operands) {
  const Operator* const known = find_operator("", name);
  const Call other(call.node(), opset, std::move(operands), call.model(), call.run_graph(), call.threads(),
                   call.most_elements());
  return known == nullptr ? call.unsupported("this operator") : known->compute(other);
}

namespace {

constexpr std::int64_t kOpset = 22;  // of the operators that are ONNX's own in another domain

std::vector<const Value*> all_operands(const Call& call) {
  std::vector<const Value*> all;
  for (std::size_t i = 0; i < call.operand_count(); ++i) all.push_back(call.has(i) ? &call.operand(i) : nullptr);
  return all;
}

Outputs unchanged(const Call& call) { return as_onnx(call, call.node().op_type, kOpset, all_operands(call)); }

// Operand 0 plus a list that belongs to its last axis; the list may be left out.
Result<Value> with_bias(const Call& call, std::size_t place) {
  ASSAY_TRY(const auto x, call.reals(0));
  if (!call.has(place)) return call.operand(0);
  ASSAY_TRY(const auto bias, call.reals(place));
  if (call.operand(0).rank() < 1 || call.shape(place) != Shape{call.shape(0).back()})
    return call.invalid("its bias does not fit the input");
  Reals y(x.begin(), x.end());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i % bias.size()];
  return Value(call.dtype(0), call.shape(0), std::move(y));
}

template <double (*F)(double)>
Outputs biased_activation(const Call& call) {
  ASSAY_TRY(const Value x, with_bias(call, 1));
  Reals y(x.reals().begin(), x.reals().end());
  for (double& one : y) one = F(one);
  return Values{Value(x.dtype(), x.shape(), std::move(y))};
}

Outputs quick_gelu(const Call& call) {
  const double alpha = call.number("alpha", 1.702F);
  return map_reals(call, [=](double x) { return x * sigmoid(alpha * x); });
}

// What FusedConv and FusedGemm do with their sums.
struct Fused {
  std::string_view name;
  Reals parameters;
};

Result<Value> activated_by(const Call& call, const Value& x, const Fused& with) {
  const auto parameter = [&](std::size_t i, double otherwise) {
    return i < with.parameters.size() ? with.parameters[i] : otherwise;
  };
  Reals y(x.reals().begin(), x.reals().end());
  const auto apply = [&](auto f) {
    for (double& one : y) one = f(one);
  };
  if (with.name == "Relu")
    apply([](double one) { return one < 0 ? 0 : one; });
  else if (with.name == "Tanh")
    apply([](double one) { return std::tanh(one); });
  else if (with.name == "Sigmoid")
    apply([](double one) { return sigmoid(one); });
  else if (with.name == "LeakyRelu")
    apply([alpha = parameter(0, 0.01)](double one) { return one < 0 ? alpha * one : one; });
  else if (with.name == "Clip")
    apply([low = parameter(0, -HUGE_VAL), high = parameter(1, HUGE_VAL)](double one) {
      return std::min(std::max(one, low), high);
    });
  else if (with.name == "HardSigmoid")
    apply([alpha = parameter(0, 0.2), beta = parameter(1, 0.5)](double one) {
      return std::clamp(alpha * one + beta, 0.0, 1.0);
    });
  else if (with.name == "HardSwish")
    apply([](double one) { return one * std::clamp(one / 6 + 0.5, 0.0, 1.0); });
  else if (!with.name.empty())
    return call.unsupported("the activation '" + std::string(with.name) + "'");
  return Value(x.dtype(), x.shape(), std::move(y));
}

Outputs fused_conv(const Call& call) {
  if (call.has(2) && !call.operand(2).is_real()) return call.invalid("its bias is not floating");
  ASSAY_TRY(Value y, convolution(call, call.operand(0), call.operand(1), call.has(2) ? &call.operand(2) : nullptr));
  if (call.has(3)) {
    ASSAY_TRY(const auto more, call.reals(3));
    if (call.shape(3) != y.shape()) return call.invalid("the tensor to add does not fit the convolution");
    Reals sum(y.reals().begin(), y.reals().end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
    y = Value(y.dtype(), y.shape(), std::move(sum));
  }
  Fused with{call.text("activation", ""), {}};
  if (const auto* given = call.node().attribute("activation_params"))
    if (const auto* all = given->get<std::span<const float>>()) with.parameters.assign(all->begin(), all->end());
  ASSAY_TRY(Value result, activated_by(call, y, with));
  return Values{std::move(result)};
}

Outputs fused_gemm(const Call& call) {
  ASSAY_TRY(const Values y, as_onnx(call, "Gemm", 13, all_operands(call)));
  if (!y[0].is_real()) return call.invalid("its operands are not floating");
  Fused with{call.text("activation", ""), {}};
  for (const std::string_view name : {"activation_alpha", "activation_beta"})
    if (call.node().attribute(name) != nullptr) with.parameters.push_back(call.number(name, 0));
  ASSAY_TRY(Value result, activated_by(call, y[0], with));
  return Values{std::move(result)};
}

Outputs fused_mat_mul(const Call& call) {
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0)
    return call.unsupported("an exchange of batches");
  const auto flips = [&](std::string_view attribute, std::size_t i) {
    return call.integer(attribute, 0) != 0 && call.operand(i).rank() > 1;
  };
  ASSAY_TRY(const Value product,
            matrix_product(call, call.operand(0), call.operand(1), flips("transA", 0), flips("transB", 1)));
  const double alpha = call.number("alpha", 1);
  Reals y(product.reals().begin(), product.reals().end());
  for (double& one : y) one *= alpha;
  return Values{Value(product.dtype(), product.shape(), std::move(y))};
}

// input + skip + bias, normalised; all outputs of the operator: y, mean, inverse deviation, the sum.
Outputs skip_normalised(const Call& call, bool centres, std::size_t bias_place) {
  ASSAY_TRY(const Value x, with_bias(call, bias_place));
  ASSAY_TRY(const auto skip, call.reals(1));
  ASSAY_TRY(const auto scale, call.reals(2));
  if (x.rank() < 1 || broadcast(call.shape(1), x.shape()) != x.shape())
    return call.invalid("the tensor to add does not fit the input");
  const Shape last{x.shape().back()};
  std::span<const double> shift;
  if (centres && call.has(3)) {
    ASSAY_TRY(shift, call.reals(3));
    if (call.shape(3) != last) return call.invalid("beta does not fit the input");
  }
  if (call.shape(2) != last) return call.invalid("gamma does not fit the input");
  Reals sum =
      combined<double>(x.reals(), x.shape(), skip, call.shape(1), x.shape(), [](double a, double b) { return a + b; });
  NormalisedRows rows = normalise_rows(sum, static_cast<std::size_t>(last[0]),
                                       call.number("epsilon", centres ? 1e-12F : 1e-5F), centres, scale, shift);
  Shape of_rows = x.shape();
  of_rows.back() = 1;
  ASSAY_CHECK_OK(call.elements_of(of_rows));
  rows.mean.resize(static_cast<std::size_t>(count_of(of_rows)));
  rows.inverse_deviation.resize(rows.mean.size());
  Values results{Value(x.dtype(), x.shape(), std::move(rows.y))};
  results.emplace_back(DType::kFloat32, of_rows, std::move(rows.mean));
  results.emplace_back(DType::kFloat32, of_rows, std::move(rows.inverse_deviation));
  results.emplace_back(x.dtype(), x.shape(), std::move(sum));
  return results;
}
Outputs skip_layer_normalization(const Call& call) { return skip_normalised(call, true, 4); }
Outputs skip_rms_normalization(const Call& call) { return skip_normalised(call, false, 3); }

// The rows of a table that indices name, added to `sum`.
Status add_rows(const Call& call, std::size_t table, std::span<const std::int64_t> indices, std::span<double> sum) {
  ASSAY_TRY(const auto rows, call.reals(table));
  const auto width = static_cast<std::int64_t>(indices.empty() ? 0 : sum.size() / indices.size());
  if (call.operand(table).rank() != 2 || (!indices.empty() && call.shape(table)[1] != width))
    return call.invalid("its tables of embeddings do not fit together");
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= call.shape(table)[0])
      return call.invalid("an index beyond a table of embeddings");
    for (std::int64_t k = 0; k < width; ++k)
      sum[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)] +=
          rows[static_cast<std::size_t>(indices[i] * width + k)];
  }
  return {};
}

// input_ids, segment_ids, and the tables of words, places and segments; gamma, beta, mask, position_ids.
Outputs embed_layer_normalization(const Call& call) {
  for (const std::size_t i : {2U, 3U, 5U, 6U})
    if (!call.has(i)) return call.invalid("input " + std::to_string(i) + " is missing");
  ASSAY_TRY(const auto words, call.integers(0));
  ASSAY_TRY(const auto scale, call.reals(5));
  ASSAY_TRY(const auto shift, call.reals(6));
  if (call.operand(0).rank() != 2 || call.operand(2).rank() != 2)
    return call.invalid("its words or their table have another rank than 2");
  const std::int64_t batch = call.shape(0)[0], tokens = call.shape(0)[1], width = call.shape(2)[1];
  if (call.shape(5) != Shape{width} || call.shape(6) != Shape{width})
    return call.invalid("gamma or beta do not fit the embeddings");
  const Shape shape{batch, tokens, width};
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals sum(count, 0.0);
  ASSAY_CHECK_OK(add_rows(call, 2, words, sum));
  Integers places(words.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i) % tokens;
  if (call.has(8)) {
    ASSAY_TRY(const auto given, call.integers(8));
    if (given.empty() || places.size() % given.size() != 0) return call.invalid("position_ids do not fit the words");
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = given[i % given.size()];
  }
  ASSAY_CHECK_OK(add_rows(call, 3, places, sum));
  if (call.has(1) && call.has(4)) {
    ASSAY_TRY(const auto segments, call.integers(1));
    if (call.shape(1) != call.shape(0)) return call.invalid("segment_ids do not fit the words");
    ASSAY_CHECK_OK(add_rows(call, 4, segments, sum));
  }
  Integers lengths(static_cast<std::size_t>(batch), 0);
  if (call.has(7)) {
    ASSAY_TRY(const auto mask, call.integers(7));
    if (call.shape(7) != call.shape(0)) return call.invalid("the mask does not fit the words");
    for (std::size_t i = 0; i < mask.size(); ++i) lengths[i / static_cast<std::size_t>(tokens)] += mask[i] == 1 ? 1 : 0;
  }
  NormalisedRows rows =
      normalise_rows(sum, static_cast<std::size_t>(width), call.number("epsilon", 1e-12F), true, scale, shift);
  Values results{Value(call.dtype(2), shape, std::move(rows.y))};
  results.push_back(Value(DType::kInt32, {batch}, std::move(lengths)));
  results.emplace_back(call.dtype(2), shape, std::move(sum));
  return results;
}

// [N, tokens, C] + [C] + [N, tokens, C]
Outputs bias_add(const Call& call) {
  ASSAY_TRY(const Value x, with_bias(call, 1));
  ASSAY_TRY(const auto skip, call.reals(2));
  if (call.shape(2) != x.shape()) return call.invalid("its operands have different shapes");
  Reals y(x.reals().begin(), x.reals().end());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += skip[i];
  return Values{Value(x.dtype(), x.shape(), std::move(y))};
}

// By elimination in [a | 1], with the largest pivot of each column. false: a is singular.
bool invert_matrix(std::span<double> a, std::span<double> inverse, std::size_t n) {
  for (std::size_t i = 0; i < n * n; ++i) inverse[i] = i / n == i % n ? 1 : 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = i;
    for (std::size_t row = i + 1; row < n; ++row)
      if (std::abs(a[row * n + i]) > std::abs(a[pivot * n + i])) pivot = row;
    if (a[pivot * n + i] == 0) return false;
    for (std::size_t c = 0; c < n; ++c) {
      std::swap(a[i * n + c], a[pivot * n + c]);
      std::swap(inverse[i * n + c], inverse[pivot * n + c]);
    }
    const double one = a[i * n + i];
    for (std::size_t c = 0; c < n; ++c) {
      a[i * n + c] /= one;
      inverse[i * n + c] /= one;
    }
    for (std::size_t row = 0; row < n; ++row) {
      const double times = a[row * n + i];
      if (row == i || times == 0) continue;
      for (std::size_t c = 0; c < n; ++c) {
        a[row * n + c] -= times * a[i * n + c];
        inverse[row * n + c] -= times * inverse[i * n + c];
      }
    }
  }
  return true;
}

Outputs inverse_of(const Call& call) {
  ASSAY_TRY(const auto x, call.reals(0));
  const Shape& shape = call.shape(0);
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2]) return call.invalid("its operand is not square");
  const auto n = static_cast<std::size_t>(shape.back());
  Reals a(x.begin(), x.end()), y(x.size());
  for (std::size_t first = 0; n > 0 && first < a.size(); first += n * n)
    if (!invert_matrix(std::span(a).subspan(first, n * n), std::span(y).subspan(first, n * n), n))
      return call.invalid("a matrix without an inverse");
  return Values{Value(call.dtype(0), shape, std::move(y))};
}

}  // namespace

Operators microsoft_operators() {
  Operators all{{"BiasAdd", &bias_add, 3, kMicrosoft},
                {"BiasGelu", &biased_activation<gelu>, 2, kMicrosoft},
                {"EmbedLayerNormalization", &embed_layer_normalization, 1, kMicrosoft},
                {"FastGelu", &biased_activation<gelu_tanh>, 1, kMicrosoft},
                {"FusedConv", &fused_conv, 2, kMicrosoft},
                {"FusedGemm", &fused_gemm, 2, kMicrosoft},
                {"FusedMatMul", &fused_mat_mul, 2, kMicrosoft},
                {"GatherND", &unchanged, 2, kMicrosoft},
                {"Gelu", &biased_activation<gelu>, 1, kMicrosoft},
                {"Inverse", &inverse_of, 1, kMicrosoft},
                {"Pad", &unchanged, 2, kMicrosoft},
                {"QuickGelu", &quick_gelu, 1, kMicrosoft},
                {"SkipLayerNormalization", &skip_layer_normalization, 3, kMicrosoft},
                {"SkipSimplifiedLayerNormalization", &skip_rms_normalization, 3, kMicrosoft},
                {"Trilu", &unchanged, 1, kMicrosoft}};
  for (const Operators& more : {microsoft_attention_operators(), microsoft_quantised_operators()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace assay::evaluate
