// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <assay/result.hpp>

#include "core/base/cancel.hpp"
#include "core/tensor/tensor.hpp"

namespace assay {

/// Writes a copy of a model whose weights are perturbed, to judge how well conditioned the model is: each weight goes
/// up or down, by a seeded bit, one unit in the last place of the coarser of `dtype` and its own type. The copy is
/// written to `to`, external data beside it. A tensor that is not rounded to `dtype` is perturbed by a unit of its own
/// type: among rounded weights it is a table, such as the frequencies of rotary embeddings, which every candidate has
/// in full precision.
///
/// Weights are the initialisers and the tensors of Constant nodes, also those of the graphs inside If, Loop and Scan,
/// of type float64, float32, float16 and bfloat16. Not changed: zeros, infinities, NaN, single elements (an epsilon),
/// the scales and regions of Resize (they decide shapes), external data of Constant nodes, local functions.
/// Errors: those of inspect_model; invalid_argument when `to` is in the model's own folder, or where the data belong;
/// internal (disk full);
/// cancelled: part of the copy is left.
[[nodiscard]] Status write_perturbed(const std::filesystem::path& from, DType dtype, std::uint64_t seed,
                                     const std::filesystem::path& to, const Cancelled& cancelled = {});

/// Writes a copy of a model whose weights are rounded to `dtype`, ties to even, and stored in their own type. A weight
/// that would become infinite is not changed. Weights are the initialisers of the main graph. Places and errors: as in
/// write_perturbed().
[[nodiscard]] Status write_rounded(const std::filesystem::path& from, DType dtype, const std::filesystem::path& to,
                                   const Cancelled& cancelled = {});

}  // namespace assay
