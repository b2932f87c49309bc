// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <assay/result.hpp>

#include "models/lower/static_program.hpp"

/// Tables of signal processing, which lowering computes for both dialects.
namespace assay::lowering {

/// c0 − c1 cos(2πn / N) + c2 cos(4πn / N) for n = 0, 1, … N is the number of elements, or one less if the node's
/// `periodic` is 0. Source: ONNX's HannWindow, HammingWindow and BlackmanWindow.
struct CosineWindow {
  double c0 = 0, c1 = 0, c2 = 0;
};
inline constexpr CosineWindow kHann{0.5, 0.5, 0}, kHamming{25.0 / 46, 21.0 / 46, 0}, kBlackman{0.42, 0.5, 0.08};
/// One number for each element of the node's output.
[[nodiscard]] std::vector<double> cosine_window(const StaticProgram& program, const graph::Node& node,
                                                const CosineWindow& window);

/// [bins of the spectrum, bands]: triangles over the bins, equally wide on the scale of mel, 2595 log10(1 + f / 700)
/// for a frequency f in hertz. Source: ONNX's description of MelWeightMatrix and its reference implementation in the
/// package onnx. Errors: unsupported: an input that is not a constant or not one number; an edge of a band beyond the
/// spectrum.
[[nodiscard]] Result<std::vector<double>> mel_weights(const StaticProgram& program, const graph::Node& node);

}  // namespace assay::lowering
