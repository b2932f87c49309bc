// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <assay/result.hpp>

#include "core/tensor/dtype.hpp"

namespace assay {

/// Copies of a model that err as much as an honest runtime may: what the limits of verification are estimated from
/// (docs/statistics.md, "Honest error"). Sources: rounded_results.cpp, quantisation_noise.cpp.

/// Writes a copy whose nodes compute in float32 and round every result to `dtype`, float16 or bfloat16. For a graph
/// that has values of this type itself, those are rounded, and for bfloat16 the results of convolutions; else all
/// float32 values. Operators that only move elements round nothing. `seed` chooses where rounding happens: 0 rounds to
/// the numbers of the type, others to numbers of the type times 1.5, 1.25, …, so that their errors are independent and
/// small integers stay exact; these round the weights of convolutions again, as folding a normalisation into them does.
/// Inputs, outputs and weights keep their types; results of the main graph only. In float32 graphs, finite results
/// beyond the type's range become its largest number. Errors: those of inspect_model; unsupported (a 16-bit graph with
/// inner graphs, or with large tensors in attributes); those of write_parts.
[[nodiscard]] Status write_rounded_results(const std::filesystem::path& from, DType dtype, std::uint64_t seed,
                                           const std::filesystem::path& to);

/// Whether a model of these operators (domain, op_type) computes with quantised numbers: QDQ, QLinear, integer
/// products, MatMulNBits.
[[nodiscard]] bool is_quantised(std::span<const std::pair<std::string, std::string>> operators);

/// Writes a copy that quantises other numbers: before each quantisation of an activation a random number of up to a
/// quarter of a step is added, and results of QLinear operators change: one integer in eight by one step. `seed`
/// chooses the numbers. Returns how many quantisations of activations there are; if there are none, the copy computes
/// the same. Errors: those of inspect_model and write_parts; unsupported (large tensors in attributes of such a node).
[[nodiscard]] Result<std::size_t> write_quantisation_noise(const std::filesystem::path& from, std::uint64_t seed,
                                                           const std::filesystem::path& to);

}  // namespace assay
