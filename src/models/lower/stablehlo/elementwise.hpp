// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {

/// Lowers a node whose output is computed element by element, from inputs that are broadcast by NumPy's rule. If an
/// input is held with channels last, the others follow it and so does the output. `compute` gets operands of the
/// output's shape and may return another type.
template <class Compute>
[[nodiscard]] Status map_elements(HloWriter& writer, const graph::Node& node, const Compute& compute);

/// The inputs of a node, broadcast to its output's shape, and whether they have channels last. Inputs that are left out
/// are left out here too.
struct ElementOperands {
  std::vector<Hlo> values;
  bool last = false;
};
[[nodiscard]] Result<ElementOperands> element_operands(HloWriter& writer, const graph::Node& node);
[[nodiscard]] Status element_output(HloWriter& writer, const graph::Node& node, const Hlo& value, bool last);

/// As ONNX's Cast. Values beyond the range of a float8 become its largest ones, unless the node's `saturate` is 0.
[[nodiscard]] Hlo cast_to(HloWriter& writer, const graph::Node& node, const Hlo& x, DType to);

template <class Compute>
Status map_elements(HloWriter& writer, const graph::Node& node, const Compute& compute) {
  ASSAY_TRY(const ElementOperands operands, element_operands(writer, node));
  return element_output(writer, node, compute(std::span<const Hlo>(operands.values)), operands.last);
}

/// An operator with one input, as a row's function.
template <Hlo (*Compute)(HloWriter&, const graph::Node&, const Hlo&)>
Status map_one(HloWriter& writer, const graph::Node& node) {
  return map_elements(writer, node, [&](std::span<const Hlo> x) { return Compute(writer, node, x[0]); });
}
template <Hlo (*Compute)(HloWriter&, const graph::Node&, const Hlo&, const Hlo&)>
Status map_two(HloWriter& writer, const graph::Node& node) {
  return map_elements(writer, node, [&](std::span<const Hlo> x) { return Compute(writer, node, x[0], x[1]); });
}

/// The same in a wider type for float16 and bfloat16: functions with several steps lose digits else.
template <class Compute>
[[nodiscard]] Hlo in_wide(HloWriter& writer, const Hlo& x, const Compute& compute) {
  return writer.convert(compute(writer.convert(x, wide(x.dtype))), x.dtype);
}

}  // namespace assay::lowering::stablehlo
