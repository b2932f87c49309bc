// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/evaluate/kernel.hpp"

namespace assay::evaluate {

/// A matrix in memory: element (i, j) is at data[i · row + j · column].
struct Matrix {
  const double* data = nullptr;
  std::int64_t row = 0, column = 1;
};

/// c += a · b for a [m, k], b [k, n] and a packed c [m, n] (row-major). Sums run over k in order, in double.
/// Cost: packs b once for each 512 of its columns.
void add_product(const Matrix& a, const Matrix& b, double* c, std::int64_t m, std::int64_t k, std::int64_t n,
                 int threads);

/// MatMul of two tensors by NumPy's rule, vectors and batches included. `flipped`: the last two axes of that operand
/// are exchanged. Errors: invalid_argument: the shapes contradict each other.
[[nodiscard]] Result<Value> matrix_product(const Call& call, const Value& a, const Value& b, bool flipped_a = false,
                                           bool flipped_b = false);

}  // namespace assay::evaluate
