// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "stats/stats.hpp"

namespace assay::stats {
namespace {

constexpr std::size_t kMaxPoints = 1000;     // more are aggregated: PELT is quadratic if nothing changes
constexpr std::size_t kMinForSegments = 60;  // MSER-5 handles fewer
constexpr std::size_t kMinSegment = 10;
constexpr double kSameLevel = 0.015;     // medians within 1.5 % are one level
constexpr double kLeastVariance = 1e-8;  // noise of 0.01 % and less is timer resolution, not a change

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}
double median_of(std::span<const double> values) {
  return median_of(std::vector<double>(values.begin(), values.end()));
}

// Logarithms, or the logarithms of the medians of `block` samples each; the last block takes the remainder.
std::vector<double> log_levels(std::span<const double> series, std::size_t block) {
  std::vector<double> logs;
  for (std::size_t i = 0; i + block <= series.size(); i += block) {
    const bool last = i + 2 * block > series.size();
    const double level = block == 1 ? series[i] : median_of(series.subspan(i, last ? series.size() - i : block));
    logs.push_back(std::log(std::max(level, std::numeric_limits<double>::min())));
  }
  return logs;
}

// Single outliers must not become segments: each value is capped at 3 spreads (p90 - p10) from the median of the
// 51 around it (Barrett and others, "Virtual machine warmup blows hot and cold", OOPSLA 2017).
std::vector<double> winsorised(std::span<const double> values) {
  constexpr std::size_t kReach = 25;
  std::vector<double> result(values.begin(), values.end()), window;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < kReach ? 0 : i - kReach, to = std::min(values.size(), i + kReach + 1);
    window.assign(values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to));
    const auto at = [&](std::size_t rank) {
      const auto place = window.begin() + static_cast<std::ptrdiff_t>(rank);
      std::nth_element(window.begin(), place, window.end());
      return *place;
    };
    const std::size_t n = window.size();
    const double middle = at(n / 2), reach = 3.0 * (at(n * 9 / 10) - at(n / 10));
    result[i] = std::clamp(values[i], middle - reach, middle + reach);
  }
  return result;
}

// Twice the negative log-likelihood of pieces, each with its own normal distribution, without constants.
class SegmentCost {
 public:
  explicit SegmentCost(std::span<const double> values) : sums_(values.size() + 1), squares_(values.size() + 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double x = values[i] - values[0];  // near zero, where squares cancel least
      sums_[i + 1] = sums_[i] + x;
      squares_[i + 1] = squares_[i] + x * x;
    }
  }
  double operator()(std::size_t from, std::size_t to) const {
    const auto n = static_cast<double>(to - from);
    const double mean = (sums_[to] - sums_[from]) / n;
    const double variance = (squares_[to] - squares_[from]) / n - mean * mean;
    return n * std::log(std::max(variance, kLeastVariance));
  }

 private:
  std::vector<double> sums_, squares_;
};

// Starts of the segments of the cheapest segmentation, 0 first: PELT (Killick, Fearnhead, Eckley, "Optimal detection of
// changepoints with a linear computational cost", JASA 2012) with at least kMinSegment values each.
std::vector<std::size_t> segment_starts(std::span<const double> values) {
  const std::size_t n = values.size();
  const double penalty = 15.0 * std::log(static_cast<double>(n));
  const SegmentCost cost(values);
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> previous(n + 1, 0), candidates{0}, kept;
  best[0] = -penalty;
  std::vector<double> reached;
  for (std::size_t end = kMinSegment; end <= n; ++end) {
    reached.assign(candidates.size(), -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t start = candidates[i];
      if (end - start < kMinSegment) continue;
      reached[i] = best[start] + cost(start, end);
      if (reached[i] + penalty < best[end]) {
        best[end] = reached[i] + penalty;
        previous[end] = start;
      }
    }
    kept.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (reached[i] <= best[end]) kept.push_back(candidates[i]);
    kept.push_back(end);
    candidates.swap(kept);
  }
  std::vector<std::size_t> starts;
  for (std::size_t end = n; end > 0; end = previous[end]) starts.push_back(previous[end]);
  std::reverse(starts.begin(), starts.end());
  return starts;
}

SteadyState by_segments(std::span<const double> logs) {
  const std::vector<double> capped = winsorised(logs);
  const std::vector<std::size_t> starts = segment_starts(capped);
  std::vector<double> levels;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : logs.size();
    levels.push_back(median_of(std::span(capped).subspan(starts[i], end - starts[i])));
  }
  const double last = levels.back();
  std::size_t first = starts.size() - 1;
  while (first > 0 && std::abs(levels[first - 1] - last) <= kSameLevel) --first;
  const std::size_t cut = starts[first];
  if (cut == 0) return {0, SteadyClass::kFlat};
  if (logs.size() - cut < logs.size() / 4) return {cut, SteadyClass::kUnsteady};
  const bool fastest = last <= *std::min_element(levels.begin(), levels.end()) + kSameLevel;
  return {cut, fastest ? SteadyClass::kWarmup : SteadyClass::kSlowdown};
}

// MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 1997): the cut
// that makes the standard error of what remains smallest. It also cuts flat noise, so a cut counts only if the
// levels differ by more than 1.5 % and by more than three standard errors of their medians.
SteadyState by_standard_error(std::span<const double> logs) {
  constexpr std::size_t kBatch = 5;
  const std::size_t batches = logs.size() / kBatch;
  std::vector<double> levels;
  for (std::size_t i = 0; i < batches; ++i) levels.push_back(median_of(logs.subspan(i * kBatch, kBatch)));
  double least = std::numeric_limits<double>::infinity();
  std::size_t cut = 0;
  for (std::size_t dropped = 0; 2 * dropped < batches; ++dropped) {
    const std::span<const double> rest = std::span(levels).subspan(dropped);
    const auto n = static_cast<double>(rest.size());
    const double centre = mean(rest);
    double squares = 0.0;
    for (const double level : rest) squares += (level - centre) * (level - centre);
    const double error = squares / (n * n);
    if (error < least) {
      least = error;
      cut = dropped * kBatch;
    }
  }
  if (cut == 0) return {};
  const std::span<const double> before = logs.first(cut), after = logs.subspan(cut);
  const double level = median_of(after), difference = median_of(before) - level;
  std::vector<double> deviations;
  for (const double x : after) deviations.push_back(std::abs(x - level));
  // A normal sample's deviation is 1.4826 median absolute deviations, its median's error 1.2533 of the mean's.
  const double error = 1.4826 * 1.2533 * median_of(std::move(deviations)) *
                       std::sqrt(1.0 / static_cast<double>(before.size()) + 1.0 / static_cast<double>(after.size()));
  if (std::abs(difference) <= std::max(kSameLevel, 3.0 * error)) return {};
  return {cut, difference > 0 ? SteadyClass::kWarmup : SteadyClass::kSlowdown};
}

}  // namespace

std::string_view to_string(SteadyClass kind) {
  switch (kind) {
    case SteadyClass::kFlat:
      return "flat";
    case SteadyClass::kWarmup:
      return "warmup";
    case SteadyClass::kSlowdown:
      return "slowdown";
    case SteadyClass::kUnsteady:
      break;
  }
  return "unsteady";
}

SteadyState detect_steady_state(std::span<const double> series) {
  if (series.empty()) return {};
  const std::size_t block = (series.size() + kMaxPoints - 1) / kMaxPoints;
  const std::vector<double> logs = log_levels(series, block);
  SteadyState state = logs.size() < kMinForSegments ? by_standard_error(logs) : by_segments(logs);
  state.steady_from *= block;
  return state;
}

}  // namespace assay::stats
