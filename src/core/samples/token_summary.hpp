// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result/record.hpp"
#include "core/samples/measurement.hpp"

namespace assay {

/// Sets the fields of a record that depend on the samples of tokens, from index `from` on; without such samples, none.
///
/// First token:  ttft_ms is the mean of the samples of kind `first_token`, one of each generation; its quantiles have
///               nearest rank, the median the interval of the other medians. ttft_samples is their number.
/// Other tokens: tpot_ms and its quantiles are those of the samples of kind `token`, tpot_samples their number.
///               tokens_per_second is 1000 / tpot_ms, of each sequence; total_tokens_per_second that of all
///               `sequences` of a generation together.
void summarise_tokens(const Samples& samples, std::size_t from, std::int64_t sequences, Record& record);

}  // namespace assay
