// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include <assay/result.hpp>

#include "base/cancel.hpp"
#include "tensor/tensor.hpp"

namespace assay {

/// The file with every weight moved by one unit in the last place of the coarser of `dtype` and its own type, up or
/// down by a seeded bit: for judging how well conditioned a model is. Written to `to`, external data beside it.
/// A tensor that is not rounded to `dtype` moves by its own type's: among rounded weights it is a table, such as the
/// frequencies of a rotation, that every candidate keeps whole.
///
/// Weights are the initialisers of type float64, float32, float16 and bfloat16. Left as they are: zeros, infinities,
/// NaN, single elements (an epsilon), the scales and regions of Resize (they decide shapes), tensors inside nodes.
/// Errors: those of inspect_model; invalid_argument when `to` lies in the model's own folder; internal (disk full);
/// cancelled: part of the copy is left.
[[nodiscard]] Status write_perturbed(const std::filesystem::path& from, DType dtype, std::uint64_t seed,
                                     const std::filesystem::path& to, const Cancelled& cancelled = {});

/// The file with every weight rounded to `dtype`, ties to even, but kept in its own type; what would become infinite
/// stays. Which the weights are, where it is written and the errors: as of write_perturbed().
[[nodiscard]] Status write_rounded(const std::filesystem::path& from, DType dtype, const std::filesystem::path& to,
                                   const Cancelled& cancelled = {});

}  // namespace assay
