// SPDX-License-Identifier: Apache-2.0
#include "history/store/distribution_codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/radix_sort.hpp"

namespace assay {
namespace {

constexpr double kLastCode = 65535;
constexpr double kNsPerMs = 1e6;
using Times = std::vector<std::int64_t>;

/// The samples of one kind.
struct Part {
  Times start, duration;
  std::size_t steady_from = 0;
  bool starts_known = true;
};

std::vector<std::uint16_t> quantiles_of(Times steady, std::int64_t low, std::int64_t high) {
  std::vector<std::uint16_t> codes;
  if (steady.empty()) return codes;
  sort_by_key(steady, [](std::int64_t time) { return sort_key(time); });
  const std::size_t n = steady.size(), k = std::min(kMostQuantiles, n);
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t rank = i == 0 ? 0 : (i * n + k - 2) / (k - 1) - 1;  // the nearest rank of i / (k - 1)
    codes.push_back(encode_time(steady[rank], low, high));
  }
  return codes;
}

/// Sets the bins, and that of the first steady sample.
void set_bins(const Part& part, std::int64_t window, SampleDistribution& distribution) {
  const std::size_t n = part.duration.size(), count = std::min(kMostBins, n);
  const auto bin_of = [&](std::size_t i) {
    if (!part.starts_known || window <= 0) return i * count / n;
    const double place = static_cast<double>(part.start[i]) / static_cast<double>(window) * static_cast<double>(count);
    return static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(count - 1)));
  };
  std::vector<std::size_t> first(count + 1);
  for (std::size_t i = 0; i < n; ++i) ++first[bin_of(i) + 1];
  for (std::size_t i = 1; i <= count; ++i) first[i] += first[i - 1];
  Times sorted(n);
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < n; ++i) sorted[next[bin_of(i)]++] = part.duration[i];
  for (std::size_t bin = 0; bin < count; ++bin) {
    const std::span<std::int64_t> inside(sorted.begin() + static_cast<std::ptrdiff_t>(first[bin]),
                                         first[bin + 1] - first[bin]);
    if (inside.empty()) {
      distribution.bins.insert(distribution.bins.end(), {65535, 0, 0});
      continue;
    }
    const auto middle = inside.begin() + static_cast<std::ptrdiff_t>((inside.size() - 1) / 2);
    std::ranges::nth_element(inside, middle);
    const std::int64_t median = *middle;
    const auto [least, greatest] = std::ranges::minmax(inside);
    for (const std::int64_t time : {least, median, greatest})
      distribution.bins.push_back(encode_time(time, distribution.low_ns, distribution.high_ns));
  }
  distribution.first_steady_bin = static_cast<std::int64_t>(part.steady_from < n ? bin_of(part.steady_from) : count);
}

}  // namespace

std::vector<SampleDistribution> distributions_of(const Samples& samples, std::size_t steady_from) {
  std::array<Part, 3> parts;
  std::int64_t end = 0, total = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Part& part = parts[std::min<std::size_t>(samples.kind[i], parts.size() - 1)];
    const std::int64_t start = samples.start_ns[i], duration = samples.duration_ns[i];
    if (start == kUnknownStart)
      part.starts_known = false;
    else
      end = std::max(end, start + duration);
    total += duration;
    part.start.push_back(start);
    part.duration.push_back(duration);
    if (i < steady_from) ++part.steady_from;
  }
  std::vector<SampleDistribution> distributions;
  for (std::size_t kind = 0; kind < parts.size(); ++kind) {
    Part& part = parts[kind];
    if (part.duration.empty()) continue;
    SampleDistribution distribution;
    distribution.kind = static_cast<SampleKind>(kind);
    distribution.samples = static_cast<std::int64_t>(part.duration.size());
    distribution.steady = distribution.samples - static_cast<std::int64_t>(part.steady_from);
    const auto [least, greatest] = std::ranges::minmax(part.duration);
    distribution.low_ns = std::max<std::int64_t>(least, 1);
    distribution.high_ns = std::max(greatest, distribution.low_ns);
    distribution.window_ns = part.starts_known ? end : total;
    set_bins(part, distribution.window_ns, distribution);
    part.duration.erase(part.duration.begin(), part.duration.begin() + static_cast<std::ptrdiff_t>(part.steady_from));
    distribution.quantiles = quantiles_of(std::move(part.duration), distribution.low_ns, distribution.high_ns);
    distributions.push_back(std::move(distribution));
  }
  return distributions;
}

std::uint16_t encode_time(std::int64_t ns, std::int64_t low_ns, std::int64_t high_ns) {
  if (low_ns >= high_ns || ns <= low_ns) return 0;
  const double low = static_cast<double>(low_ns);
  const double share = std::log(static_cast<double>(ns) / low) / std::log(static_cast<double>(high_ns) / low);
  return static_cast<std::uint16_t>(std::lround(kLastCode * std::min(share, 1.0)));
}

double decode_ms(std::uint16_t code, std::int64_t low_ns, std::int64_t high_ns) {
  const double low = static_cast<double>(low_ns), high = static_cast<double>(high_ns);
  if (code == 0 || low_ns >= high_ns) return low / kNsPerMs;
  if (code == kLastCode) return high / kNsPerMs;
  return low * std::exp(std::log(high / low) * code / kLastCode) / kNsPerMs;
}

std::string code_bytes(std::span<const std::uint16_t> codes) {
  std::string bytes;
  bytes.reserve(2 * codes.size());
  for (const std::uint16_t code : codes) {
    bytes += static_cast<char>(code & 0xFF);
    bytes += static_cast<char>(code >> 8);
  }
  return bytes;
}

std::vector<std::uint16_t> codes_of_hex(std::string_view hex) {
  const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); };
  const auto byte = [&](std::size_t at) { return digit(hex[at]) * 16 + digit(hex[at + 1]); };
  std::vector<std::uint16_t> codes;
  for (std::size_t at = 0; at + 4 <= hex.size(); at += 4)
    codes.push_back(static_cast<std::uint16_t>(byte(at) + 256 * byte(at + 2)));
  return codes;
}

}  // namespace assay
