// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/lower/stablehlo/writer.hpp"

namespace assay::lowering::stablehlo {

/// A window over the spatial axes, as the text has it.
[[nodiscard]] HloWindow hlo_window(const graph::Window& window);

/// The same window over all axes, with 1 for batch and channels.
[[nodiscard]] HloWindow over_all_axes(const HloWindow& window, bool last);

/// The inputs of a convolution of 8-bit integers.
struct IntegerConvolution {
  std::size_t x = 0, kernel = 1, x_zero = 2, kernel_zero = 3;
};
/// Its sums of products, int32, with channels last. A zero point may be left out; that of the kernel may be one for
/// each output channel. Errors: those of lowering::window_of() and of HloWriter::input().
[[nodiscard]] Result<Hlo> integer_convolution(HloWriter& writer, const graph::Node& node,
                                              const IntegerConvolution& inputs);

}  // namespace assay::lowering::stablehlo
