// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/samples/measurement.hpp"
#include "history/store/dataset.hpp"

/// How the samples of a launch are distributed, and how they went over time, small enough for pictures: times are
/// 16-bit codes on a logarithmic scale between the shortest and the longest sample of the launch (docs/formats.md).
namespace assay {

inline constexpr std::size_t kMostQuantiles = 64, kMostBins = 100;

/// One distribution for each kind of sample that there is, by kind. `samples`: the whole window, of which those from
/// `steady_from` on are steady. result_id and launch_number stay as they are in a new distribution.
///
/// Quantiles: of the n steady samples at most kMostQuantiles values, the nearest ranks at equal distances from the
/// least to the greatest; all of them, sorted, if they are few. Bins: at most kMostBins of equal length from the start
/// of the window to the end of its last sample; a sample is in the bin in which it starts. An empty bin is (65535, 0,
/// 0). If a start is not known, the bins have equal numbers of samples.
[[nodiscard]] std::vector<SampleDistribution> distributions_of(const Samples& samples, std::size_t steady_from);

/// The code of a time, from 0 for `low_ns` to 65535 for `high_ns`. 0 if both are equal.
[[nodiscard]] std::uint16_t encode_time(std::int64_t ns, std::int64_t low_ns, std::int64_t high_ns);
[[nodiscard]] double decode_ms(std::uint16_t code, std::int64_t low_ns, std::int64_t high_ns);

/// Codes as bytes, the lower one first, and as the hexadecimal digits of these bytes.
[[nodiscard]] std::string code_bytes(std::span<const std::uint16_t> codes);
[[nodiscard]] std::vector<std::uint16_t> codes_of_hex(std::string_view hex);

}  // namespace assay
