// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "models/evaluate/kernels/elementwise.hpp"
#include "models/evaluate/kernels/product.hpp"
#include "models/graph/einsum.hpp"

namespace assay::evaluate {
namespace {

// Integers are multiplied as doubles, which have all sums below 2^53 exactly.
Value as_reals(const Value& value) {
  if (value.is_real()) return value;
  Reals all(value.count());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = value.number(i);
  return {DType::kFloat64, value.shape(), std::move(all)};
}
Value as_type(const Value& value, DType dtype) {
  if (is_real_type(dtype)) return {dtype, value.shape(), Reals(value.reals().begin(), value.reals().end())};
  Integers all;
  for (const double x : value.reals()) all.push_back(truncated_to(dtype, x));
  return {dtype, value.shape(), std::move(all)};
}

Outputs mat_mul(const Call& call) {
  ASSAY_TRY(Value product, matrix_product(call, as_reals(call.operand(0)), as_reals(call.operand(1))));
  if (call.operand(0).is_real()) return Values{std::move(product)};
  return Values{as_type(product, call.dtype(0))};
}

Outputs gemm(const Call& call) {
  const Value a = as_reals(call.operand(0)), b = as_reals(call.operand(1));
  const bool flips_a = call.integer("transA", 0) != 0, flips_b = call.integer("transB", 0) != 0;
  if (a.rank() != 2 || b.rank() != 2) return call.invalid("its operands are not matrices");
  ASSAY_TRY(const Value product, matrix_product(call, a, b, flips_a, flips_b));
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  Reals result(product.reals().begin(), product.reals().end());
  for (double& x : result) x *= alpha;
  if (call.has(2)) {
    const Value c = as_reals(call.operand(2));
    if (broadcast(c.shape(), product.shape()) != product.shape()) return call.invalid("C does not fit the product");
    const Value all = repeated(c, product.shape());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] += beta * all.reals()[i];
  }
  const Value sum(DType::kFloat64, product.shape(), std::move(result));
  return Values{as_type(sum, call.dtype(0))};
}

// A walk over an operand whose axes have labels: one axis of the walk for each label of `order`.
Strided labelled(const std::string& labels, const Shape& shape, const std::string& order,
                 const std::map<char, std::int64_t>& extents) {
  const std::vector<std::int64_t> own = strides_of(shape);
  Strided view;
  for (const char label : order) {
    view.shape.push_back(extents.at(label));
    std::int64_t stride = 0;
    // A label that stands twice walks along the diagonal.
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == label && shape[i] != 1) stride += own[i];
    view.strides.push_back(stride);
  }
  return view;
}

// A pair of operands: labels that both have and nobody else needs are summed by a product of matrices.
struct Term {
  std::string labels;
  Value value;
};

Result<Term> pair_product(const Call& call, const Term& a, const Term& b, const std::string& still_needed,
                          const std::map<char, std::int64_t>& extents) {
  const auto has = [](const std::string& labels, char label) { return labels.find(label) != std::string::npos; };
  std::string batch, rows, columns, sums;
  for (const auto& [label, extent] : extents) {
    const bool in_a = has(a.labels, label), in_b = has(b.labels, label), needed = has(still_needed, label);
    if (in_a && in_b)
      (needed ? batch : sums) += label;
    else if (in_a)
      (needed ? rows : sums) += label;
    else if (in_b)
      (needed ? columns : sums) += label;
  }
  const auto extent_of = [&](const std::string& labels) {
    std::int64_t product = 1;
    for (const char label : labels) product *= extents.at(label);
    return product;
  };
  const std::string of_left = fmt::format("{}{}{}", batch, rows, sums);
  const std::string of_right = fmt::format("{}{}{}", batch, sums, columns);
  std::string of_product = fmt::format("{}{}{}", batch, rows, columns);
  for (const std::string& labels : {of_left, of_right, of_product}) {
    Shape shape;
    for (const char label : labels) shape.push_back(extents.at(label));
    ASSAY_CHECK_OK(call.elements_of(shape));
  }
  const std::int64_t n = extent_of(batch), m = extent_of(rows), k = extent_of(sums), p = extent_of(columns);
  // A label that only one operand sums is summed there: the other is constant along it, with stride 0.
  const Value left = gathered(a.value, labelled(a.labels, a.value.shape(), of_left, extents)).with_shape({n, m, k});
  const Value right = gathered(b.value, labelled(b.labels, b.value.shape(), of_right, extents)).with_shape({n, k, p});
  ASSAY_TRY(const Value product, matrix_product(call, left, right));
  Shape shape;
  for (const char label : of_product) shape.push_back(extents.at(label));
  return Term{std::move(of_product), product.with_shape(std::move(shape))};
}

Outputs einsum(const Call& call) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < call.operand_count(); ++i) shapes.push_back(call.shape(i));
  const auto read = graph::read_einsum(call.text("equation", ""), shapes);
  if (!read) return call.invalid("its equation has " + read.error());
  Term result{"", Value(DType::kFloat64, {}, Reals{1.0})};
  for (std::size_t i = 0; i < call.operand_count(); ++i) {
    std::string needed = read->result;
    for (std::size_t j = i + 1; j < call.operand_count(); ++j) needed += read->operands[j];
    ASSAY_TRY(result,
              pair_product(call, result, {read->operands[i], as_reals(call.operand(i))}, needed, read->extents));
  }
  return Values{
      as_type(gathered(result.value, labelled(result.labels, result.value.shape(), read->result, read->extents)),
              call.dtype(0))};
}

Outputs determinant(const Call& call) {
  ASSAY_TRY(const auto all, call.reals(0));
  const std::int64_t rank = call.operand(0).rank();
  if (rank < 2 ||
      call.shape(0)[static_cast<std::size_t>(rank) - 1] != call.shape(0)[static_cast<std::size_t>(rank) - 2])
    return call.invalid("its operand is not square");
  const auto n = static_cast<std::size_t>(call.shape(0).back());
  Shape shape(call.shape(0).begin(), call.shape(0).end() - 2);
  ASSAY_TRY(const std::size_t count, call.elements_of(shape));
  Reals results;
  for (std::size_t first = 0; results.size() < count; first += n * n) {
    Reals a(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(first + n * n));
    double product = 1;
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t pivot = i;
      for (std::size_t r = i + 1; r < n; ++r)
        if (std::abs(a[r * n + i]) > std::abs(a[pivot * n + i])) pivot = r;
      if (pivot != i) {
        for (std::size_t c = 0; c < n; ++c) std::swap(a[i * n + c], a[pivot * n + c]);
        product = -product;
      }
      product *= a[i * n + i];
      if (a[i * n + i] == 0) break;
      for (std::size_t r = i + 1; r < n; ++r) {
        const double factor = a[r * n + i] / a[i * n + i];
        for (std::size_t c = i; c < n; ++c) a[r * n + c] -= factor * a[i * n + c];
      }
    }
    results.push_back(product);
  }
  return Values{Value(call.dtype(0), std::move(shape), std::move(results))};
}

}  // namespace

Operators linear_operators() {
  return {{"Det", &determinant}, {"Einsum", &einsum}, {"Gemm", &gemm, 2}, {"MatMul", &mat_mul, 2}};
}

}  // namespace assay::evaluate
