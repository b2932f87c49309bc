// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace assay::plugin {

/// What libtorch keeps for the whole process.

/// float32 arithmetic is float32 everywhere, denormal numbers are kept, and one thread runs the operators of a program
/// one after another. Once, before anything is computed.
void set_strict_arithmetic();

/// Threads inside an operator, of one stream; 0: libtorch's choice.
void set_threads(int threads);
[[nodiscard]] int threads();

/// "float32" if products of float32 matrices, and convolutions, are computed in it; else "tf32", "bfloat16", or
/// "unknown". Measured, with and without packed weights.
[[nodiscard]] std::string measured_float32();
/// "kept" or "flushed", measured.
[[nodiscard]] std::string measured_denormals();

}  // namespace assay::plugin
