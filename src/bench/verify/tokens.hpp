// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <assay/result.hpp>

#include "core/tensor/tensor.hpp"

namespace assay {

/// What a comparison of generated tokens with those of the reference found.
struct TokenCheck {
  std::int64_t tokens = 0;    ///< number of tokens in all sequences
  std::int64_t compared = 0;  ///< number of compared tokens: those of each sequence until it leaves the reference's
  std::string message;        ///< why the tokens are wrong; "": they are not
};

/// Compares greedily generated ids with the reference's own greedy generation from the same prompt. A sequence that
/// leaves the reference's has been compared up to there, because its later tokens follow from another text; where it
/// leaves, the reference's logit of its token must be within `margin` of the largest, else the tokens are wrong.
///
/// `largest`: `ids` and `logits` [batch, tokens, n] (InferRequest::largest). `ids`: int64 [batch, tokens].
/// Errors: those of SafetensorsFile::open; mismatch (other shapes).
[[nodiscard]] Result<TokenCheck> check_tokens(const std::filesystem::path& largest, const TensorView& ids,
                                              double margin);

/// Compares ids that were forced through the reference: each one's logit must be within `margin` of the largest at its
/// place. `largest`: as above, and `forced` [batch, tokens], the logits of `ids` (InferRequest::forced). Errors: as
/// above.
[[nodiscard]] Result<TokenCheck> check_forced_tokens(const std::filesystem::path& largest, const TensorView& ids,
                                                     double margin);

}  // namespace assay
