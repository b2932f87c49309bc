// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {

/// Lowers an Einsum.
[[nodiscard]] Status einsum(HloWriter& writer, const graph::Node& node);

/// The product of two inputs of a node by ONNX's MatMul, as `shape`: vectors become matrices for it.
[[nodiscard]] Hlo product_of(HloWriter& writer, const Hlo& a, const Hlo& b, DType result, const Shape& shape);

/// An operand of 8-bit integers as int32, less its zero point, which is for the whole tensor or, with `rows`, for each
/// row, else for each column. `zero_index`: the input that has it; it may be left out. Errors: those of input().
[[nodiscard]] Result<Hlo> centred(HloWriter& writer, const graph::Node& node, std::size_t index, std::size_t zero_index,
                                  bool rows);

}  // namespace assay::lowering::stablehlo
