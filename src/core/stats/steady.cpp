// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/stats/stats.hpp"

namespace assay::stats {
namespace {

constexpr std::size_t kMaxPoints = 500;      // more are aggregated: PELT is quadratic if nothing changes
constexpr std::size_t kMinForSegments = 60;  // MSER-5 handles fewer
constexpr std::size_t kMinSegment = 10;
constexpr double kSameLevel = 0.015;   // medians within 1.5 % are one level
constexpr double kErrors = 4.0;        // and those within so many standard errors
constexpr double kOtherLevels = 0.05;  // a larger share of another level is not steady
constexpr double kMostInside = 0.99;
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

// The noise of a level: an autoregressive series.
struct Noise {
  double variance = kLeastVariance;
  double tau = 1.0;
  /// For the mean of `length` neighbouring values.
  [[nodiscard]] double of_mean(std::size_t length) const {
    return variance * std::min(1.0, tau / static_cast<double>(length));
  }
};

// From the deviations inside of segments. The correlation of neighbours around a segment's own mean is too small by
// (1 + 4 r) / length (Kendall 1954).
Noise noise_inside(std::span<const double> values, const std::vector<std::size_t>& starts) {
  double products = 0.0, squares = 0.0, steps = 0.0;
  std::vector<double> deviations(values.begin(), values.end());
  const auto each = [&](auto&& visit) {
    for (std::size_t s = 0; s < starts.size(); ++s)
      visit(starts[s], s + 1 < starts.size() ? starts[s + 1] : values.size());
  };
  each([&](std::size_t from, std::size_t to) {
    const double centre = mean(values.subspan(from, to - from));
    for (std::size_t i = from; i < to; ++i) {
      deviations[i] -= centre;
      squares += deviations[i] * deviations[i];
      if (i > from) products += deviations[i] * deviations[i - 1];
    }
  });
  const auto n = static_cast<double>(values.size());
  if (!(squares > 0.0)) return {};
  const double length = n / static_cast<double>(starts.size());
  const double found = products / squares;
  const double r = std::clamp(found + (1.0 + 4.0 * found) / length, 0.0, kMostInside);
  each([&](std::size_t from, std::size_t to) {
    for (std::size_t i = from + 1; i < to; ++i) {
      const double step = deviations[i] - r * deviations[i - 1];
      steps += step * step;
    }
  });
  const double innovation = steps / std::max(1.0, n - static_cast<double>(starts.size()));
  return {std::max(kLeastVariance, innovation / (1.0 - r * r)), (1.0 + r) / (1.0 - r)};
}

struct Segment {
  std::size_t from, to;
  double level;
  [[nodiscard]] std::size_t length() const { return to - from; }
};

// How often the difference of two levels exceeds what counts as one level; above 1 they are two.
double distance(const Segment& a, const Segment& b, const Noise& noise) {
  const double error = std::sqrt(noise.of_mean(a.length()) + noise.of_mean(b.length()));
  return std::abs(a.level - b.level) / std::max(kSameLevel, kErrors * error);
}

std::vector<Segment> segments_between(std::span<const double> values, const std::vector<std::size_t>& starts) {
  std::vector<Segment> segments;
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t to = s + 1 < starts.size() ? starts[s + 1] : values.size();
    segments.push_back({starts[s], to, median_of(values.subspan(starts[s], to - starts[s]))});
  }
  return segments;
}

// Joins the neighbours that differ least, until each differs from the next one. Segments of correlated noise become
// one, and from the longer ones the correlation is seen better.
std::vector<Segment> join_alike(std::span<const double> values, std::vector<std::size_t> starts, Noise& noise) {
  std::vector<Segment> segments = segments_between(values, starts);
  while (segments.size() > 1) {
    noise = noise_inside(values, starts);
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
      const double apart = distance(segments[i], segments[i + 1], noise);
      if (apart < least) least = apart, nearest = i;
    }
    if (least > 1.0) break;
    starts.erase(starts.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
    Segment& joined = segments[nearest];
    joined.to = segments[nearest + 1].to;
    joined.level = median_of(values.subspan(joined.from, joined.length()));
    segments.erase(segments.begin() + static_cast<std::ptrdiff_t>(nearest) + 1);
  }
  return segments;
}

// The class of a series of segments of which those with `steady` have the steady level.
SteadyState classify(const std::vector<Segment>& segments, const std::vector<bool>& steady) {
  const std::size_t n = segments.back().to;
  std::size_t first = 0;
  while (!steady[first]) ++first;
  if (2 * segments[first].from > n) return {0, SteadyClass::kUnsteady};
  const double level = segments[first].level;
  const std::size_t cut = segments[first].from;
  std::size_t others = 0, last_steady = first;
  for (std::size_t i = first; i < segments.size(); ++i) {
    if (steady[i]) {
      last_steady = i;
    } else {
      others += segments[i].length();
    }
  }
  const std::size_t at_the_end = n - segments[last_steady].to;
  if (static_cast<double>(others) > kOtherLevels * static_cast<double>(n - cut)) {
    const bool slower_end = at_the_end == others && segments.back().level > level;
    return {cut, slower_end ? SteadyClass::kSlowdown : SteadyClass::kUnsteady};
  }
  if (cut == 0) return {};
  const bool slower = segments.front().level > level;
  return {cut, slower ? SteadyClass::kWarmup : SteadyClass::kSlowdown};
}

SteadyState by_segments(std::span<const double> logs) {
  const std::vector<double> capped = winsorised(logs);
  Noise noise;
  const std::vector<Segment> segments = join_alike(capped, segment_starts(capped), noise);
  if (segments.size() == 1) return {};
  // The level that covers most.
  std::vector<bool> steady;
  std::size_t most = 0;
  for (const Segment& centre : segments) {
    std::vector<bool> alike(segments.size());
    std::size_t covered = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      alike[i] = &segments[i] == &centre || distance(segments[i], centre, noise) <= 1.0;
      if (alike[i]) covered += segments[i].length();
    }
    if (covered > most) most = covered, steady = alike;
  }
  return classify(segments, steady);
}

// MSER-5 (White, "An effective truncation heuristic for bias reduction in simulation output", Simulation 1997): the cut
// that makes the standard error of what remains smallest. It also cuts flat noise, so a cut counts only if the
// levels differ by more than 1.5 % and by more than correlated noise explains.
SteadyState by_standard_error(std::span<const double> logs) {
  constexpr std::size_t kBatch = 5;
  const std::size_t batches = logs.size() / kBatch;
  std::vector<double> levels;
  levels.reserve(batches);
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
  const std::vector<double> capped = winsorised(logs);
  const std::vector<std::size_t> starts{0, cut};
  const std::vector<Segment> parts = segments_between(capped, starts);
  if (distance(parts.front(), parts.back(), noise_inside(capped, starts)) <= 1.0) return {};
  return {cut, parts.front().level > parts.back().level ? SteadyClass::kWarmup : SteadyClass::kSlowdown};
}

}  // namespace

SteadyState detect_steady_state(std::span<const double> series) {
  if (series.empty()) return {};
  const std::size_t block = (series.size() + kMaxPoints - 1) / kMaxPoints;
  const std::vector<double> logs = log_levels(series, block);
  SteadyState state = logs.size() < kMinForSegments ? by_standard_error(logs) : by_segments(logs);
  state.steady_from *= block;
  return state;
}

}  // namespace assay::stats
