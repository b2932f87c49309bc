// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <assay/result.hpp>

#include "models/zoo/decoder/decoder.hpp"
#include "models/zoo/layers/build_context.hpp"

namespace assay::zoo {

/// Mask and positions, if they are wanted, beside `embeddings` [B, S, embedding_width]. Errors: those of
/// Inputs::take; unsupported (positions without a mask).
[[nodiscard]] Result<DecoderInputs> take_decoder_inputs(BuildContext& context, const Value& embeddings);

}  // namespace assay::zoo
