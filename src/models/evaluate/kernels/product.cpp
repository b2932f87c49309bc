// SPDX-License-Identifier: Apache-2.0
#include "models/evaluate/kernels/product.hpp"

#include <algorithm>
#include <utility>

#include "models/evaluate/strides.hpp"

namespace assay::evaluate {
namespace {

constexpr std::int64_t kColumns = 512, kDepth = 128, kRows = 4;

// Compiled for several processors, the best of which is chosen when the program starts. Not with a sanitiser, whose
// code would run before it is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define ASSAY_FOR_EACH_PROCESSOR __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define ASSAY_FOR_EACH_PROCESSOR
#endif

// Four rows of c at once: each element of b that is read serves four products.
ASSAY_FOR_EACH_PROCESSOR
void add_panel(const double* __restrict a, std::int64_t a_row, std::int64_t a_column, const double* __restrict b,
               std::int64_t depth, std::int64_t columns, double* __restrict c, std::int64_t c_row, std::int64_t rows) {
  std::int64_t i = 0;
  for (; i + kRows <= rows; i += kRows) {
    double* __restrict c0 = c + i * c_row;
    double* __restrict c1 = c0 + c_row;
    double* __restrict c2 = c1 + c_row;
    double* __restrict c3 = c2 + c_row;
    for (std::int64_t p = 0; p < depth; ++p) {
      const double* x = a + i * a_row + p * a_column;
      const double x0 = x[0], x1 = x[a_row], x2 = x[2 * a_row], x3 = x[3 * a_row];
      const double* from = b + p * columns;
      for (std::int64_t j = 0; j < columns; ++j) {
        const double y = from[j];
        c0[j] += x0 * y;
        c1[j] += x1 * y;
        c2[j] += x2 * y;
        c3[j] += x3 * y;
      }
    }
  }
  for (; i < rows; ++i) {
    double* to = c + i * c_row;
    for (std::int64_t p = 0; p < depth; ++p) {
      const double x = a[i * a_row + p * a_column];
      const double* from = b + p * columns;
      for (std::int64_t j = 0; j < columns; ++j) to[j] += x * from[j];
    }
  }
}

}  // namespace

void add_product(const Matrix& a, const Matrix& b, double* c, std::int64_t m, std::int64_t k, std::int64_t n,
                 int threads) {
  // Parts of the columns of c, and, where c is narrow, of its rows: each part belongs to one thread.
  const std::int64_t column_parts = (n + kColumns - 1) / kColumns;
  const std::int64_t row_parts =
      std::clamp<std::int64_t>(m / 32, 1, std::max<std::int64_t>(1, 16 / std::max<std::int64_t>(column_parts, 1)));
  const double cost = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n) /
                      static_cast<double>(std::max<std::int64_t>(column_parts * row_parts, 1));
  parallel(threads, column_parts * row_parts, cost, [&](std::int64_t begin, std::int64_t end) {
    Reals panel(static_cast<std::size_t>(kDepth * std::min(kColumns, n)));
    for (std::int64_t part = begin; part < end; ++part) {
      const std::int64_t first = part / row_parts * kColumns, columns = std::min(kColumns, n - first);
      const std::int64_t top = m * (part % row_parts) / row_parts, bottom = m * (part % row_parts + 1) / row_parts;
      for (std::int64_t p = 0; p < k; p += kDepth) {
        const std::int64_t depth = std::min(kDepth, k - p);
        for (std::int64_t q = 0; q < depth; ++q)
          for (std::int64_t j = 0; j < columns; ++j)
            panel[static_cast<std::size_t>(q * columns + j)] = b.data[(p + q) * b.row + (first + j) * b.column];
        add_panel(a.data + top * a.row + p * a.column, a.row, a.column, panel.data(), depth, columns,
                  c + top * n + first, n, bottom - top);
      }
    }
  });
}

Result<Value> matrix_product(const Call& call, const Value& a, const Value& b, bool flipped_a, bool flipped_b) {
  const auto misfit = [&] {
    return call.invalid("matrices of the shapes " + to_string(a.shape()) + " and " + to_string(b.shape()) +
                        " have no product");
  };
  if (!a.is_real() || !b.is_real() || a.rank() == 0 || b.rank() == 0) return misfit();
  // A vector is a matrix of one row on the left, of one column on the right.
  Shape of_a = a.shape(), of_b = b.shape();
  if (a.rank() == 1) of_a.insert(of_a.begin(), 1);
  if (b.rank() == 1) of_b.push_back(1);
  const std::size_t ra = of_a.size(), rb = of_b.size();
  std::int64_t m = of_a[ra - 2], k = of_a[ra - 1], depth = of_b[rb - 2], n = of_b[rb - 1];
  Matrix left{nullptr, k, 1}, right{nullptr, n, 1};
  if (flipped_a) {
    left = {nullptr, 1, k};
    std::swap(m, k);
  }
  if (flipped_b) {
    right = {nullptr, 1, n};
    std::swap(depth, n);
  }
  const std::optional<Shape> outer =
      broadcast(Shape(of_a.begin(), of_a.end() - 2), Shape(of_b.begin(), of_b.end() - 2));
  if (k != depth || !outer) return misfit();
  Shape result = *outer;
  if (a.rank() > 1) result.push_back(m);
  if (b.rank() > 1) result.push_back(n);
  ASSAY_TRY(const std::size_t elements, call.elements_of(result));
  std::vector<std::int64_t> places_a, places_b;
  for (const auto& [shape, places] : {std::pair(&of_a, &places_a), std::pair(&of_b, &places_b)})
    for_each_row(repeated(Shape(shape->begin(), shape->end() - 2), *outer),
                 [&, to = places](std::int64_t place, std::int64_t step, std::int64_t count) {
                   for (std::int64_t i = 0; i < count; ++i) to->push_back(place + i * step);
                 });
  Reals c(elements, 0.0);
  const auto batches = static_cast<std::int64_t>(places_a.size());
  const auto one = [&](std::int64_t i, int threads) {
    Matrix of_left = left, of_right = right;
    of_left.data = a.reals().data() + places_a[static_cast<std::size_t>(i)] * m * k;
    of_right.data = b.reals().data() + places_b[static_cast<std::size_t>(i)] * k * n;
    add_product(of_left, of_right, c.data() + i * m * n, m, k, n, threads);
  };
  if (batches == 1) {
    one(0, call.threads());
  } else {
    parallel(call.threads(), batches, 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) one(i, 1);
             });
  }
  return Value(a.dtype(), std::move(result), std::move(c));
}

}  // namespace assay::evaluate
